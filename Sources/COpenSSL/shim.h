#pragma once
/* The low-level SHA-256 calls are what PBKDF2 needs; OpenSSL 3 marks them deprecated. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

/* Combinations of selection bits that Swift does not see, because they are macros of macros. */
static const int COPENSSL_SELECT_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY;
static const int COPENSSL_SELECT_KEY_PAIR = EVP_PKEY_KEYPAIR;
