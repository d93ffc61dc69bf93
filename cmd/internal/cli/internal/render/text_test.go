package render

import (
	"testing"
	"time"
)

func TestValuesAsText(t *testing.T) {
	t.Parallel()
	code, class, message, half := "http_status", "content", "404\x1b[2J", 0.5
	for got, want := range map[string]string{
		Time(time.Time{}):                               "",
		Reason(nil, &message):                           "",
		Reason(&code, nil):                              "http_status: ",
		Reason(&code, &message):                         "http_status: 404�[2J",
		ClassifiedReason(&code, &class, &message):       "http_status (content): 404�[2J",
		Change("", "pending"):                           "– → pending",
		Change("pending", "held"):                       "pending → held",
		Seconds(nil):                                    "",
		Seconds(&half):                                  "0.500 s",
		Duration(1234567 * time.Nanosecond):             "1ms",
		Duration(12345 * time.Millisecond):              "12.3s",
		Duration(90*time.Minute + 400*time.Millisecond): "1h30m0s",
		Size(1023):                                      "1023 B",
		Size(1536):                                      "1.5 KiB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Or(&half, "?") != 0.5 || Or[int](nil, "?") != "?" || Deref[int](nil) != 0 {
		t.Error("a value that is there or missing is not shown so")
	}
}
