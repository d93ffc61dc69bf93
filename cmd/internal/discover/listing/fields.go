package listing

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts are those of dates with a time of day, in two fields.
var layouts = []string{
	"2006-01-02 15:04", "2006-01-02 15:04:05", // Apache
	"02-Jan-2006 15:04", "02-Jan-2006 15:04:05", // nginx, older Apache
	"2006-Jan-02 15:04:05", "2006-Jan-02 15:04", // lighttpd
}

// modified returns the first date of the fields, and the fields after it, which are nil when
// there is no date.
func modified(fields []string) (at time.Time, rest []string) {
	for i := range len(fields) - 1 {
		if s := fields[i]; s == "" || s[0] < '0' || s[0] > '9' {
			continue
		}
		for _, layout := range layouts {
			if at, err := time.Parse(layout, fields[i]+" "+fields[i+1]); err == nil {
				return at, fields[i+2:]
			}
		}
	}
	return time.Time{}, nil
}

// units are factors of 1024, as servers write them.
const units = "KMGTPE"

// size returns the bytes that a field says, -1 = it says none, and whether they are rounded.
func size(field string) (bytes int64, rounded bool) {
	if n, err := strconv.ParseInt(field, 10, 64); err == nil && n >= 0 {
		return n, false
	}
	number := strings.TrimRight(field, "iB")
	if number == "" {
		return -1, false
	}
	power := strings.IndexByte(units, number[len(number)-1]&^0x20) + 1
	if power > 0 {
		number = number[:len(number)-1]
	}
	f, err := strconv.ParseFloat(number, 64)
	if f *= math.Pow(1024, float64(power)); err != nil || math.IsNaN(f) || f < 0 || f >= math.MaxInt64 {
		return -1, false
	}
	return int64(f), power > 0 || f != math.Trunc(f)
}
