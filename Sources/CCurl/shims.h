// What Swift cannot import from libcurl: variadic functions, a function for each type of argument.
#ifndef CCURL_SHIMS_H
#define CCURL_SHIMS_H

#include <curl/curl.h>

static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_context(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

// No two transfers share a connection.
static inline CURLMcode ccurl_keep_apart(CURLM *multi) {
  return curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
}

// Functions of one type receive headers and body.
static inline CURLcode ccurl_set_taker(CURL *easy, CURLoption option, curl_write_callback taker) {
  return curl_easy_setopt(easy, option, taker);
}

static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

static inline CURLcode ccurl_set_socket_setup(CURL *easy, curl_sockopt_callback setup) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, setup);
}

static inline CURLcode ccurl_set_request_check(CURL *easy, curl_prereq_callback check) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check);
}

static inline CURLcode ccurl_get_number(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_text(CURL *easy, CURLINFO info, const char **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_context(CURL *easy, void **value) {
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, value);
}

static inline CURLcode ccurl_get_certificates(CURL *easy, struct curl_certinfo **value) {
  return curl_easy_getinfo(easy, CURLINFO_CERTINFO, value);
}

static inline unsigned ccurl_version(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num;
}

// Constants that contain casts.
static inline long ccurl_auth_basic(void) { return (long)CURLAUTH_BASIC; }
static inline long ccurl_auth_digest(void) { return (long)CURLAUTH_DIGEST; }

// The result of a finished transfer is in a union, which Swift imports without its members.
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

#endif
