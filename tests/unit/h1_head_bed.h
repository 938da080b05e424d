/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of h1_head have in common. */
#ifndef H1_HEAD_BED_H
#define H1_HEAD_BED_H

#include "row.h"
#include "wire/h1_head.h"
#include "wire/urlpath.h"

#define GET "GET / HTTP/1.1\r\n"
#define HOST "Host: ok.test\r\n"

#endif
