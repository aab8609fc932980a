// What Swift cannot import from OpenSSL: macros.
#ifndef COPENSSL_SHIMS_H
#define COPENSSL_SHIMS_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// The oldest and the newest version that is spoken; 0 means the oldest or newest there is.
static inline int copenssl_set_versions(SSL_CTX *context, int oldest, int newest) {
  return SSL_CTX_set_min_proto_version(context, oldest) &&
         SSL_CTX_set_max_proto_version(context, newest);
}

// Neither renegotiation nor resumption, and no buffers while a connection is idle.
static inline void copenssl_limit(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

// Servers without RFC 5746, which matters to those who renegotiate.
static inline void copenssl_tolerate_old_servers(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_LEGACY_SERVER_CONNECT);
}

static inline int copenssl_set_server_name(SSL *session, const char *name) {
  return (int)SSL_set_tlsext_host_name(session, name);
}

// Whether a certificate has subject alternative names.
static inline int copenssl_has_names(const X509 *certificate) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int count = names ? sk_GENERAL_NAME_num(names) : 0;
  GENERAL_NAMES_free(names);
  return count > 0;
}

#endif
