/*
 * lettafast: strict reading of Letta Code transcripts. The C ABI, number 1.
 *
 * This header is for readers and for C callers; what Python uses is generated from the
 * same functions, and a test compares the two.
 *
 * Every function that returns int32_t answers 0, or the number of an error
 * (docs/ABI.md lists them) after writing *error; *out is written only on 0. What goes in
 * is borrowed for the call. Bytes that come out belong to the handle and are valid until
 * the next call with it. A handle is used by one thread at a time. No pointer but
 * `before` may be null. Paths, cursors and ids are bytes with a length, without a NUL.
 */
#ifndef LETTAFAST_H
#define LETTAFAST_H

#include <stdint.h>

typedef struct lettafast_transcript lettafast_transcript;

typedef struct lettafast_options {
  uint32_t size;           /* sizeof(lettafast_options) */
  uint32_t flags;          /* 1: lenient; 2: do not use openat2 */
  uint32_t isa;            /* 0: the widest; 1 scalar, 2 AVX2, 3 AVX-512, 4 NEON */
  uint32_t reserved;       /* 0 */
  uint64_t max_line_bytes; /* of a line before its LF */
  uint64_t max_page_bytes; /* of the file that a page spans */
} lettafast_options;

typedef struct lettafast_error {
  int32_t code;
  int32_t os_error;        /* errno of the code 7, else 0 */
  uint64_t line;           /* from 1; this and the next two: codes 101 to 115 */
  uint64_t line_offset;    /* bytes from the start of the file */
  uint64_t offset;         /* likewise; of the code 501 the text's size */
  uint32_t field_length;   /* bytes of field; UINT32_MAX: none */
  uint32_t excerpt_length; /* bytes of excerpt; of the code -1 a message */
  uint8_t field[256];      /* UTF-8, at most 64 characters */
  uint8_t excerpt[320];
} lettafast_error;

typedef struct lettafast_summary_t {
  uint64_t kinds[5]; /* user, assistant, reasoning, error, tool_call */
  uint64_t turns;
  uint64_t replaced_surrogates;
  uint64_t validated; /* the offset up to which the file was validated */
  uint64_t tail_bytes;
  uint64_t diagnostics_total;
  uint64_t dev;
  uint64_t ino;
} lettafast_summary_t;

typedef struct lettafast_view {
  const uint8_t *bytes;
  uint64_t length;
  uint64_t next; /* where to go on; 0 of a page */
} lettafast_view;

typedef struct lettafast_text {
  const uint8_t *bytes; /* UTF-8 */
  uint64_t length;
  uint64_t start; /* this and the next two: bytes of the decoded text */
  uint64_t end;
  uint64_t size;
} lettafast_text;

uint32_t lettafast_abi(void);
uint32_t lettafast_isa(void);

int32_t lettafast_open(const uint8_t *root, uint64_t root_length, const uint8_t *relative,
                       uint64_t relative_length, const lettafast_options *options,
                       lettafast_transcript **out, lettafast_error *error);
void lettafast_close(lettafast_transcript *handle); /* null is ignored */
int32_t lettafast_reopen(lettafast_transcript *handle, lettafast_error *error);

int32_t lettafast_summary(lettafast_transcript *handle, lettafast_summary_t *out,
                          lettafast_error *error);
/* Diagnostic number `index`; with code 0 where there is none. */
int32_t lettafast_diagnostic(lettafast_transcript *handle, uint64_t index, lettafast_error *out,
                             lettafast_error *error);
/* *out is 1 when rows were added. */
int32_t lettafast_refresh(lettafast_transcript *handle, uint32_t verify, uint32_t *out,
                          lettafast_error *error);

/* The newest page where `before` is null. */
int32_t lettafast_page(lettafast_transcript *handle, const uint8_t *before, uint64_t before_length,
                       uint64_t limit, lettafast_view *out, lettafast_error *error);
int32_t lettafast_appended(lettafast_transcript *handle, uint64_t start, lettafast_view *out,
                           lettafast_error *error);
/* A JSON array with an array for each row: offset, kind, captured_at, text, name, argsText,
   resultText, resultOk, source_line_id, source_message_id, replaced surrogates. */
int32_t lettafast_entries(lettafast_transcript *handle, uint64_t start, uint64_t end,
                          lettafast_view *out, lettafast_error *error);
int32_t lettafast_is_row(lettafast_transcript *handle, uint64_t offset, uint32_t *out,
                         lettafast_error *error);
/* part: 0 text, 1 input, 2 output. */
int32_t lettafast_content(lettafast_transcript *handle, const uint8_t *name, uint64_t name_length,
                          uint32_t part, uint64_t start, uint64_t length, lettafast_text *out,
                          lettafast_error *error);

#endif
