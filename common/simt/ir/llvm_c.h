/* llvm_c.h: LLVM's C interface, loaded at run time from the library that the machine's clang uses.
 *
 * clang needs libLLVM, so a machine with clang has it; its headers (llvm-dev, 300 MB) are not
 * needed. The declarations below repeat what LLVM documents for versions 14 to 22. Its names are
 * kept. LLVM promises that functions and the numbers of these enumerations stay as they are.
 */
#ifndef SIMT_IR_LLVM_C_H
#define SIMT_IR_LLVM_C_H

#include <stddef.h>
#include <stdint.h>

typedef int LLVMBool;
typedef struct LLVMOpaqueContext *LLVMContextRef;
typedef struct LLVMOpaqueModule *LLVMModuleRef;
typedef struct LLVMOpaqueType *LLVMTypeRef;
typedef struct LLVMOpaqueValue *LLVMValueRef;
typedef struct LLVMOpaqueBasicBlock *LLVMBasicBlockRef;
typedef struct LLVMOpaqueMetadata *LLVMMetadataRef;
typedef struct LLVMOpaqueBuilder *LLVMBuilderRef;
typedef struct LLVMOpaqueUse *LLVMUseRef;
typedef struct LLVMOpaqueAttributeRef *LLVMAttributeRef;
typedef struct LLVMOpaqueMemoryBuffer *LLVMMemoryBufferRef;
typedef struct LLVMOpaqueError *LLVMErrorRef;
typedef struct LLVMOpaquePassBuilderOptions *LLVMPassBuilderOptionsRef;
typedef struct LLVMOpaqueTargetData *LLVMTargetDataRef;
typedef struct LLVMTarget *LLVMTargetRef;
typedef struct LLVMOpaqueTargetMachine *LLVMTargetMachineRef;
typedef struct LLVMComdat *LLVMComdatRef;

/* kinds of types */
enum {
    LLVMVoidTypeKind = 0,
    LLVMHalfTypeKind = 1,
    LLVMFloatTypeKind = 2,
    LLVMDoubleTypeKind = 3,
    LLVMIntegerTypeKind = 8,
    LLVMStructTypeKind = 10,
    LLVMArrayTypeKind = 11,
    LLVMPointerTypeKind = 12,
    LLVMVectorTypeKind = 13
};

/* instructions */
enum {
    LLVMRet = 1,
    LLVMBr = 2,
    LLVMSwitch = 3,
    LLVMInvoke = 5,
    LLVMUnreachable = 7,
    LLVMAdd = 8,
    LLVMFAdd = 9,
    LLVMSub = 10,
    LLVMFSub = 11,
    LLVMMul = 12,
    LLVMFMul = 13,
    LLVMUDiv = 14,
    LLVMSDiv = 15,
    LLVMFDiv = 16,
    LLVMURem = 17,
    LLVMSRem = 18,
    LLVMFRem = 19,
    LLVMShl = 20,
    LLVMLShr = 21,
    LLVMAShr = 22,
    LLVMAnd = 23,
    LLVMOr = 24,
    LLVMXor = 25,
    LLVMAlloca = 26,
    LLVMLoad = 27,
    LLVMStore = 28,
    LLVMGetElementPtr = 29,
    LLVMTrunc = 30,
    LLVMZExt = 31,
    LLVMSExt = 32,
    LLVMFPToUI = 33,
    LLVMFPToSI = 34,
    LLVMUIToFP = 35,
    LLVMSIToFP = 36,
    LLVMFPTrunc = 37,
    LLVMFPExt = 38,
    LLVMPtrToInt = 39,
    LLVMIntToPtr = 40,
    LLVMBitCast = 41,
    LLVMICmp = 42,
    LLVMFCmp = 43,
    LLVMPHI = 44,
    LLVMCall = 45,
    LLVMSelect = 46,
    LLVMExtractElement = 50,
    LLVMInsertElement = 51,
    LLVMShuffleVector = 52,
    LLVMExtractValue = 53,
    LLVMInsertValue = 54,
    LLVMFence = 55,
    LLVMLandingPad = 59,
    LLVMFNeg = 66,
    LLVMFreeze = 68
};

/* the rest */
enum {
    LLVMExternalLinkage = 0,
    LLVMAppendingLinkage = 7,
    LLVMInternalLinkage = 8,
    LLVMPrivateLinkage = 9,
    LLVMCCallConv = 0,
    LLVMFastCallConv = 8,
    LLVMIntSLT = 40,
    LLVMIntNE = 33,
    LLVMAtomicOrderingNotAtomic = 0,
    LLVMReturnStatusAction = 2,
    LLVMCodeGenLevelDefault = 2,
    LLVMRelocPIC = 2,
    LLVMCodeModelDefault = 0,
    LLVMObjectFile = 1
};
#define LLVMAttributeFunctionIndex (~0u)

/* F(what it returns, its name, its parameters) */
#define LLVM_FUNCTIONS(F)                                                                          \
    /* modules and how they are read and written */                                                \
    F(LLVMContextRef, LLVMContextCreate, (void))                                                   \
    F(LLVMBool, LLVMCreateMemoryBufferWithContentsOfFile,                                          \
      (const char *, LLVMMemoryBufferRef *, char **))                                              \
    F(LLVMBool, LLVMParseBitcodeInContext2,                                                        \
      (LLVMContextRef, LLVMMemoryBufferRef, LLVMModuleRef *))                                      \
    F(LLVMBool, LLVMVerifyModule, (LLVMModuleRef, int, char **))                                   \
    F(LLVMBool, LLVMPrintModuleToFile, (LLVMModuleRef, const char *, char **))                     \
    F(const char *, LLVMGetModuleInlineAsm, (LLVMModuleRef, size_t *))                             \
    F(LLVMTargetDataRef, LLVMGetModuleDataLayout, (LLVMModuleRef))                                 \
    F(const char *, LLVMGetTarget, (LLVMModuleRef))                                                \
    F(LLVMPassBuilderOptionsRef, LLVMCreatePassBuilderOptions, (void))                             \
    F(LLVMErrorRef, LLVMRunPasses,                                                                 \
      (LLVMModuleRef, const char *, LLVMTargetMachineRef, LLVMPassBuilderOptionsRef))              \
    F(char *, LLVMGetErrorMessage, (LLVMErrorRef))                                                 \
    F(LLVMBool, LLVMGetTargetFromTriple, (const char *, LLVMTargetRef *, char **))                 \
    F(LLVMTargetMachineRef, LLVMCreateTargetMachine,                                               \
      (LLVMTargetRef, const char *, const char *, const char *, int, int, int))                    \
    F(LLVMBool, LLVMTargetMachineEmitToFile,                                                       \
      (LLVMTargetMachineRef, LLVMModuleRef, const char *, int, char **))                           \
    /* types */                                                                                    \
    F(LLVMTypeRef, LLVMVoidTypeInContext, (LLVMContextRef))                                        \
    F(LLVMTypeRef, LLVMInt8TypeInContext, (LLVMContextRef))                                        \
    F(LLVMTypeRef, LLVMInt32TypeInContext, (LLVMContextRef))                                       \
    F(LLVMTypeRef, LLVMInt64TypeInContext, (LLVMContextRef))                                       \
    F(LLVMTypeRef, LLVMPointerType, (LLVMTypeRef, unsigned))                                       \
    F(LLVMTypeRef, LLVMArrayType, (LLVMTypeRef, unsigned))                                         \
    F(LLVMTypeRef, LLVMStructTypeInContext, (LLVMContextRef, LLVMTypeRef *, unsigned, LLVMBool))   \
    F(LLVMTypeRef, LLVMFunctionType, (LLVMTypeRef, LLVMTypeRef *, unsigned, LLVMBool))             \
    F(int, LLVMGetTypeKind, (LLVMTypeRef))                                                         \
    F(unsigned, LLVMGetPointerAddressSpace, (LLVMTypeRef))                                         \
    F(unsigned, LLVMGetIntTypeWidth, (LLVMTypeRef))                                                \
    F(LLVMTypeRef, LLVMGetElementType, (LLVMTypeRef))                                              \
    F(LLVMTypeRef, LLVMStructGetTypeAtIndex, (LLVMTypeRef, unsigned))                              \
    F(LLVMTypeRef, LLVMGetReturnType, (LLVMTypeRef))                                               \
    F(unsigned, LLVMCountParamTypes, (LLVMTypeRef))                                                \
    F(void, LLVMGetParamTypes, (LLVMTypeRef, LLVMTypeRef *))                                       \
    F(LLVMBool, LLVMIsFunctionVarArg, (LLVMTypeRef))                                               \
    F(unsigned long long, LLVMABISizeOfType, (LLVMTargetDataRef, LLVMTypeRef))                     \
    F(unsigned long long, LLVMStoreSizeOfType, (LLVMTargetDataRef, LLVMTypeRef))                   \
    F(unsigned long long, LLVMOffsetOfElement, (LLVMTargetDataRef, LLVMTypeRef, unsigned))         \
    /* values */                                                                                   \
    F(LLVMTypeRef, LLVMTypeOf, (LLVMValueRef))                                                     \
    F(const char *, LLVMGetValueName2, (LLVMValueRef, size_t *))                                   \
    F(void, LLVMSetValueName2, (LLVMValueRef, const char *, size_t))                               \
    F(void, LLVMReplaceAllUsesWith, (LLVMValueRef, LLVMValueRef))                                  \
    F(void, LLVMSetOperand, (LLVMValueRef, unsigned, LLVMValueRef))                                \
    F(LLVMValueRef, LLVMBuildFreeze, (LLVMBuilderRef, LLVMValueRef, const char *))                 \
    F(LLVMValueRef, LLVMAliasGetAliasee, (LLVMValueRef))                                           \
    F(LLVMValueRef, LLVMGetNextGlobalAlias, (LLVMValueRef))                                        \
    F(LLVMUseRef, LLVMGetFirstUse, (LLVMValueRef))                                                 \
    F(LLVMUseRef, LLVMGetNextUse, (LLVMUseRef))                                                    \
    F(LLVMValueRef, LLVMGetUser, (LLVMUseRef))                                                     \
    F(int, LLVMGetNumOperands, (LLVMValueRef))                                                     \
    F(LLVMValueRef, LLVMGetOperand, (LLVMValueRef, unsigned))                                      \
    F(LLVMValueRef, LLVMIsAInstruction, (LLVMValueRef))                                            \
    F(LLVMValueRef, LLVMIsAArgument, (LLVMValueRef))                                               \
    F(LLVMValueRef, LLVMIsAAllocaInst, (LLVMValueRef))                                             \
    F(LLVMValueRef, LLVMIsACallInst, (LLVMValueRef))                                               \
    F(LLVMValueRef, LLVMIsAPtrToIntInst, (LLVMValueRef))                                           \
    F(LLVMValueRef, LLVMIsAConstantInt, (LLVMValueRef))                                            \
    F(LLVMValueRef, LLVMIsAConstantExpr, (LLVMValueRef))                                           \
    F(LLVMValueRef, LLVMIsAGlobalVariable, (LLVMValueRef))                                         \
    F(LLVMValueRef, LLVMIsAFunction, (LLVMValueRef))                                               \
    F(LLVMValueRef, LLVMIsAInlineAsm, (LLVMValueRef))                                              \
    F(int, LLVMGetConstOpcode, (LLVMValueRef))                                                     \
    F(LLVMValueRef, LLVMConstInt, (LLVMTypeRef, unsigned long long, LLVMBool))                     \
    F(unsigned long long, LLVMConstIntGetZExtValue, (LLVMValueRef))                                \
    F(long long, LLVMConstIntGetSExtValue, (LLVMValueRef))                                         \
    F(LLVMBool, LLVMIsUndef, (LLVMValueRef))                                                       \
    F(LLVMValueRef, LLVMConstAllOnes, (LLVMTypeRef))                                               \
    F(LLVMTypeRef, LLVMIntTypeInContext, (LLVMContextRef, unsigned))                               \
    F(unsigned long long, LLVMSizeOfTypeInBits, (LLVMTargetDataRef, LLVMTypeRef))                  \
    F(LLVMValueRef, LLVMConstNull, (LLVMTypeRef))                                                  \
    F(LLVMValueRef, LLVMConstBitCast, (LLVMValueRef, LLVMTypeRef))                                 \
    F(LLVMValueRef, LLVMConstArray, (LLVMTypeRef, LLVMValueRef *, unsigned))                       \
    F(LLVMValueRef, LLVMConstStructInContext,                                                      \
      (LLVMContextRef, LLVMValueRef *, unsigned, LLVMBool))                                        \
    F(LLVMValueRef, LLVMConstStringInContext, (LLVMContextRef, const char *, unsigned, LLVMBool))  \
    F(LLVMBool, LLVMIsConstantString, (LLVMValueRef))                                              \
    F(const char *, LLVMGetAsString, (LLVMValueRef, size_t *))                                     \
    /* global variables and functions */                                                           \
    F(LLVMValueRef, LLVMGetFirstGlobal, (LLVMModuleRef))                                           \
    F(LLVMValueRef, LLVMGetNextGlobal, (LLVMValueRef))                                             \
    F(LLVMValueRef, LLVMGetNamedGlobal, (LLVMModuleRef, const char *))                             \
    F(LLVMValueRef, LLVMAddGlobal, (LLVMModuleRef, LLVMTypeRef, const char *))                     \
    F(void, LLVMDeleteGlobal, (LLVMValueRef))                                                      \
    F(LLVMValueRef, LLVMGetInitializer, (LLVMValueRef))                                            \
    F(void, LLVMSetInitializer, (LLVMValueRef, LLVMValueRef))                                      \
    F(LLVMBool, LLVMIsThreadLocal, (LLVMValueRef))                                                 \
    F(LLVMBool, LLVMIsGlobalConstant, (LLVMValueRef))                                              \
    F(void, LLVMSetGlobalConstant, (LLVMValueRef, LLVMBool))                                       \
    F(LLVMBool, LLVMIsDeclaration, (LLVMValueRef))                                                 \
    F(void, LLVMSetLinkage, (LLVMValueRef, int))                                                   \
    F(void, LLVMSetVisibility, (LLVMValueRef, int))                                                \
    F(void, LLVMSetComdat, (LLVMValueRef, LLVMComdatRef))                                          \
    F(const char *, LLVMGetSection, (LLVMValueRef))                                                \
    F(void, LLVMSetSection, (LLVMValueRef, const char *))                                          \
    F(void, LLVMSetAlignment, (LLVMValueRef, unsigned))                                            \
    F(unsigned, LLVMGetAlignment, (LLVMValueRef))                                                  \
    F(LLVMTypeRef, LLVMGlobalGetValueType, (LLVMValueRef))                                         \
    F(LLVMValueRef, LLVMGetFirstGlobalAlias, (LLVMModuleRef))                                      \
    F(LLVMValueRef, LLVMGetFirstGlobalIFunc, (LLVMModuleRef))                                      \
    F(LLVMValueRef, LLVMGetFirstFunction, (LLVMModuleRef))                                         \
    F(LLVMValueRef, LLVMGetNextFunction, (LLVMValueRef))                                           \
    F(LLVMValueRef, LLVMGetNamedFunction, (LLVMModuleRef, const char *))                           \
    F(LLVMValueRef, LLVMAddFunction, (LLVMModuleRef, const char *, LLVMTypeRef))                   \
    F(unsigned, LLVMCountBasicBlocks, (LLVMValueRef))                                              \
    F(unsigned, LLVMCountParams, (LLVMValueRef))                                                   \
    F(LLVMValueRef, LLVMGetParam, (LLVMValueRef, unsigned))                                        \
    F(LLVMValueRef, LLVMGetParamParent, (LLVMValueRef))                                            \
    F(LLVMBool, LLVMHasPersonalityFn, (LLVMValueRef))                                              \
    F(unsigned, LLVMGetFunctionCallConv, (LLVMValueRef))                                           \
    F(unsigned, LLVMGetIntrinsicID, (LLVMValueRef))                                                \
    F(const char *, LLVMIntrinsicGetName, (unsigned, size_t *))                                    \
    F(unsigned, LLVMLookupIntrinsicID, (const char *, size_t))                                     \
    F(LLVMValueRef, LLVMGetIntrinsicDeclaration, (LLVMModuleRef, unsigned, LLVMTypeRef *, size_t)) \
    F(LLVMTypeRef, LLVMIntrinsicGetType, (LLVMContextRef, unsigned, LLVMTypeRef *, size_t))        \
    /* attributes */                                                                               \
    F(unsigned, LLVMGetEnumAttributeKindForName, (const char *, size_t))                           \
    F(LLVMAttributeRef, LLVMGetEnumAttributeAtIndex, (LLVMValueRef, unsigned, unsigned))           \
    F(LLVMAttributeRef, LLVMGetCallSiteEnumAttribute, (LLVMValueRef, unsigned, unsigned))          \
    F(uint64_t, LLVMGetEnumAttributeValue, (LLVMAttributeRef))                                     \
    F(LLVMTypeRef, LLVMGetTypeAttributeValue, (LLVMAttributeRef))                                  \
    F(unsigned, LLVMGetAttributeCountAtIndex, (LLVMValueRef, unsigned))                            \
    F(void, LLVMGetAttributesAtIndex, (LLVMValueRef, unsigned, LLVMAttributeRef *))                \
    F(LLVMBool, LLVMIsStringAttribute, (LLVMAttributeRef))                                         \
    F(unsigned, LLVMGetEnumAttributeKind, (LLVMAttributeRef))                                      \
    F(const char *, LLVMGetStringAttributeKind, (LLVMAttributeRef, unsigned *))                    \
    F(void, LLVMRemoveEnumAttributeAtIndex, (LLVMValueRef, unsigned, unsigned))                    \
    F(void, LLVMRemoveStringAttributeAtIndex, (LLVMValueRef, unsigned, const char *, unsigned))    \
    F(LLVMAttributeRef, LLVMCreateStringAttribute,                                                 \
      (LLVMContextRef, const char *, unsigned, const char *, unsigned))                            \
    F(void, LLVMAddAttributeAtIndex, (LLVMValueRef, unsigned, LLVMAttributeRef))                   \
    /* blocks and instructions */                                                                  \
    F(LLVMBasicBlockRef, LLVMGetFirstBasicBlock, (LLVMValueRef))                                   \
    F(LLVMBasicBlockRef, LLVMGetNextBasicBlock, (LLVMBasicBlockRef))                               \
    F(LLVMBasicBlockRef, LLVMGetEntryBasicBlock, (LLVMValueRef))                                   \
    F(LLVMBasicBlockRef, LLVMAppendBasicBlockInContext,                                            \
      (LLVMContextRef, LLVMValueRef, const char *))                                                \
    F(LLVMValueRef, LLVMGetBasicBlockParent, (LLVMBasicBlockRef))                                  \
    F(LLVMValueRef, LLVMGetFirstInstruction, (LLVMBasicBlockRef))                                  \
    F(LLVMValueRef, LLVMGetNextInstruction, (LLVMValueRef))                                        \
    F(LLVMValueRef, LLVMGetBasicBlockTerminator, (LLVMBasicBlockRef))                              \
    F(unsigned, LLVMGetNumSuccessors, (LLVMValueRef))                                              \
    F(LLVMBasicBlockRef, LLVMGetSuccessor, (LLVMValueRef, unsigned))                               \
    F(LLVMBasicBlockRef, LLVMGetIncomingBlock, (LLVMValueRef, unsigned))                           \
    F(LLVMBasicBlockRef, LLVMGetInstructionParent, (LLVMValueRef))                                 \
    F(int, LLVMGetInstructionOpcode, (LLVMValueRef))                                               \
    F(void, LLVMInstructionEraseFromParent, (LLVMValueRef))                                        \
    F(void, LLVMInstructionRemoveFromParent, (LLVMValueRef))                                       \
    F(LLVMTypeRef, LLVMGetAllocatedType, (LLVMValueRef))                                           \
    F(LLVMTypeRef, LLVMGetGEPSourceElementType, (LLVMValueRef))                                    \
    F(LLVMBool, LLVMGetVolatile, (LLVMValueRef))                                                   \
    F(int, LLVMGetOrdering, (LLVMValueRef))                                                        \
    F(LLVMValueRef, LLVMGetCalledValue, (LLVMValueRef))                                            \
    F(LLVMTypeRef, LLVMGetCalledFunctionType, (LLVMValueRef))                                      \
    F(unsigned, LLVMGetNumArgOperands, (LLVMValueRef))                                             \
    F(unsigned, LLVMGetInstructionCallConv, (LLVMValueRef))                                        \
    F(void, LLVMSetTailCall, (LLVMValueRef, LLVMBool))                                             \
    /* building */                                                                                 \
    F(LLVMBuilderRef, LLVMCreateBuilderInContext, (LLVMContextRef))                                \
    F(void, LLVMPositionBuilderBefore, (LLVMBuilderRef, LLVMValueRef))                             \
    F(void, LLVMPositionBuilderAtEnd, (LLVMBuilderRef, LLVMBasicBlockRef))                         \
    F(void, LLVMInsertIntoBuilder, (LLVMBuilderRef, LLVMValueRef))                                 \
    F(LLVMValueRef, LLVMBuildCall2,                                                                \
      (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))         \
    F(LLVMValueRef, LLVMBuildPointerCast,                                                          \
      (LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char *))                                   \
    F(LLVMValueRef, LLVMBuildZExtOrBitCast,                                                        \
      (LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char *))                                   \
    F(LLVMValueRef, LLVMBuildMemSet,                                                               \
      (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, unsigned))                        \
    F(LLVMValueRef, LLVMBuildLoad2, (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, const char *))     \
    F(LLVMValueRef, LLVMBuildGEP2,                                                                 \
      (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))         \
    F(LLVMValueRef, LLVMBuildICmp,                                                                 \
      (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))                             \
    F(LLVMValueRef, LLVMBuildCondBr,                                                               \
      (LLVMBuilderRef, LLVMValueRef, LLVMBasicBlockRef, LLVMBasicBlockRef))                        \
    F(LLVMValueRef, LLVMBuildBr, (LLVMBuilderRef, LLVMBasicBlockRef))                              \
    F(LLVMValueRef, LLVMBuildRetVoid, (LLVMBuilderRef))                                            \
    /* lines */                                                                                    \
    F(LLVMMetadataRef, LLVMInstructionGetDebugLoc, (LLVMValueRef))                                 \
    F(LLVMMetadataRef, LLVMGetCurrentDebugLocation2, (LLVMBuilderRef))                             \
    F(void, LLVMSetCurrentDebugLocation2, (LLVMBuilderRef, LLVMMetadataRef))                       \
    F(unsigned, LLVMDILocationGetLine, (LLVMMetadataRef))                                          \
    F(LLVMMetadataRef, LLVMDILocationGetScope, (LLVMMetadataRef))                                  \
    F(LLVMMetadataRef, LLVMDILocationGetInlinedAt, (LLVMMetadataRef))                              \
    F(LLVMMetadataRef, LLVMDIScopeGetFile, (LLVMMetadataRef))                                      \
    F(const char *, LLVMDIFileGetFilename, (LLVMMetadataRef, unsigned *))                          \
    F(LLVMMetadataRef, LLVMGetSubprogram, (LLVMValueRef))                                          \
    F(unsigned, LLVMDISubprogramGetLine, (LLVMMetadataRef))                                        \
    F(LLVMMetadataRef, LLVMDIBuilderCreateDebugLocation,                                           \
      (LLVMContextRef, unsigned, unsigned, LLVMMetadataRef, LLVMMetadataRef))

#define LLVM_DECLARE(returned, name, parameters) extern returned(*name) parameters;
LLVM_FUNCTIONS(LLVM_DECLARE)
#undef LLVM_DECLARE

/* Loads the library that belongs to this clang++ and makes the functions above callable. The
 * library may be named by SIMTCC_LIBLLVM in the environment. 0, or -1 with a sentence in message.
 */
int llvm_load(const char *clang, char *message, size_t cap);

const char *llvm_path(void); /* of the library, once it is loaded */

/* Makes the code generator of a module's target (x86-64 or AArch64) ready. 0, or -1. */
int llvm_load_target(const char *triple, char *message, size_t cap);

#endif
