package session

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// The log says once why no server takes the session, and again when that has changed.
func TestSilence(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	for name, c := range map[string]struct {
		finds []condition // each time that it looks
		want  []condition
	}{
		"no server answers":                  {[]condition{away, away, away}, []condition{away}},
		"it comes back empty":                {[]condition{away, unknown, emptied, emptied}, []condition{away, emptied}},
		"it comes back older":                {[]condition{away, refused, refused, refused}, []condition{away, refused}},
		"it comes back at this moment":       {[]condition{away, refused}, []condition{away}},
		"it comes back, and goes away again": {[]condition{refused, away, refused}, []condition{away}},
		"nothing is known":                   {[]condition{unknown, unknown}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := silence{log: slog.New(slog.NewTextHandler(&log, nil)), limit: limit}
			now := time.Unix(0, 0)
			if s.note(false, now) || s.note(false, now.Add(limit)) {
				t.Error("it looks before the session can have ended")
			}
			for _, found := range c.finds {
				if now = now.Add(limit + 1); !s.note(false, now) || s.note(false, now) {
					t.Fatal("it does not look, or looks twice")
				}
				s.found(found, now)
			}
			told := strings.Split(strings.TrimSpace(log.String()), "\n")
			for i, c := range c.want {
				if i >= len(told) || !strings.Contains(told[i], says[c]) {
					t.Errorf("the log does not say %q in line %d:\n%s", says[c], i, log.String())
				}
			}
			if len(c.want) > 0 && len(told) != len(c.want) || len(c.want) == 0 && log.Len() > 0 {
				t.Errorf("the log says more:\n%s", log.String())
			}
			log.Reset()
			if s.note(true, now) || (log.Len() > 0) != (len(c.want) > 0) {
				t.Errorf("when it is taken the log says %q", log.String())
			}
			log.Reset()
			s.found(emptied, now) // by a look that was under way
			if log.Len() > 0 {
				t.Errorf("it is taken, and the log says %q", log.String())
			}
		})
	}
	if all := []string{says[away], says[refused], says[emptied]}; slices.Contains(all, "") {
		t.Errorf("a condition has no words: %q", all)
	}
}
