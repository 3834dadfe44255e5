int main() {
    cudaGraph_t g; //! graphs
    return sizeof g == 0;
}
