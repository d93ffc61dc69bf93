package domain

import "strings"

// TraceID gives the trace id of a W3C traceparent, "" = there is none in it.
func TraceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 {
		return ""
	}
	return parts[1]
}
