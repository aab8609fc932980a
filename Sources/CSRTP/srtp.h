// libsrtp2: all that is used of it Swift can import as it is.
#ifndef CSRTP_H
#define CSRTP_H

#include <srtp2/srtp.h>

#endif
