#!/bin/sh
# Makes the certificates that the tests of TLS use; all but expired.pem are valid until 2126.
# Each file contains a certificate and, except for the authority's, its key, which protects nothing.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# issue NAME COMMON-NAME EXTENSION END [OPTION ...]
issue() {
  name=$1 subject=$2 extension=$3 end=$4
  shift 4
  openssl ecparam -name prime256v1 -genkey -noout -out "$work/$name.key"
  openssl req -new -key "$work/$name.key" -subj "/CN=$subject" -out "$work/$name.csr"
  : >"$work/index"
  cat >"$work/cnf" <<EOF
[ca]
default_ca = test
[test]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
$extension
EOF
  openssl ca -batch -notext -config "$work/cnf" -startdate 20200101000000Z -enddate "$end" \
    -in "$work/$name.csr" -out "$name.pem" "$@"
}
own() { issue "$@" -selfsign -keyfile "$work/$1.key"; }
signed() {
  issue "$@" -cert authority.pem -keyfile "$work/authority.key"
  cat "$work/$1.key" >>"$1.pem"
}

names="subjectAltName = DNS:localhost,IP:127.0.0.1,IP:::1"
own authority "rtp-recv test authority" "basicConstraints = critical,CA:TRUE" 21260101000000Z
own selfsigned localhost "$names" 21260101000000Z
cat "$work/selfsigned.key" >>selfsigned.pem
signed server localhost "$names" 21260101000000Z
signed expired localhost "$names" 20200201000000Z
signed elsewhere camera.example "subjectAltName = DNS:camera.example,IP:192.0.2.1" 21260101000000Z
signed unnamed localhost "basicConstraints = CA:FALSE" 21260101000000Z
signed client client.example "subjectAltName = DNS:client.example" 21260101000000Z
