/* fault.h: failures of CUDA calls on request, for tests of programs that must live through them. */
#ifndef SIMT_FAULT_H
#define SIMT_FAULT_H

/* The error with which this call is to fail, noted as the last error; mostly cudaSuccess. */
int fault_in(const char *call);

#endif
