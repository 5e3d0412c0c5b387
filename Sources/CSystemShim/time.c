#define _GNU_SOURCE
#include "CSystemShim.h"

#include <string.h>
#include <time.h>

int vs_local_time_of(int64_t seconds, struct vs_local_time *out) {
    time_t time = (time_t)seconds;
    struct tm fields;
    // localtime_r alone need not read TZ.
    tzset();
    if (localtime_r(&time, &fields) == NULL) return -1;
    out->year = fields.tm_year + 1900;
    out->month = fields.tm_mon + 1;
    out->day = fields.tm_mday;
    out->hour = fields.tm_hour;
    out->minute = fields.tm_min;
    out->second = fields.tm_sec;
    out->offset_minutes = (int)(fields.tm_gmtoff / 60);
    return 0;
}

int vs_seconds_of_local_time(const struct vs_local_time *time, int64_t *seconds) {
    struct tm fields;
    memset(&fields, 0, sizeof fields);
    fields.tm_year = time->year - 1900;
    fields.tm_mon = time->month - 1;
    fields.tm_mday = time->day;
    fields.tm_hour = time->hour;
    fields.tm_min = time->minute;
    fields.tm_sec = time->second;
    fields.tm_isdst = -1;
    // -1 is also the second before 1970: only a week day that was not filled in tells of failure.
    fields.tm_wday = -1;
    time_t result = mktime(&fields);
    if (result == (time_t)-1 && fields.tm_wday == -1) return -1;
    *seconds = (int64_t)result;
    return 0;
}
