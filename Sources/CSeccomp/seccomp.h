// libseccomp, which CBox calls.
#include <seccomp.h>
