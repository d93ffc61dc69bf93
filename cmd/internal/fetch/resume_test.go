package fetch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// TestRestOfAFile: what is missing of a file is requested by the validator of what is there, and an
// answer that is not just that is not taken: the whole is requested instead.
func TestRestOfAFile(t *testing.T) {
	t.Parallel()
	const text, tag, date = "low and high water", `"v1"`, "Sat, 01 Feb 2020 10:00:00 GMT"
	part := func(status int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const at = "Content-Range"
	for name, c := range map[string]struct {
		answer    http.HandlerFunc // to the request for a range
		validator string
		from      int64 // where the body begins
		again     bool  // the whole is requested
		fails     domain.Code
	}{
		"the rest":                    {answer: part(206, text[5:], at, "bytes 5-17/18", "ETag", tag), from: 5},
		"the rest by its date":        {answer: part(206, text[5:], at, "bytes 5-17/18", "Last-Modified", date), validator: date, from: 5},
		"the rest without it":         {answer: part(206, text[5:], at, "bytes 5-17/18"), validator: date, from: 5},
		"another content":             {answer: part(200, text, "ETag", `"v2"`)},
		"no ranges":                   {answer: part(200, text)},
		"a range of another":          {answer: part(206, "other content", at, "bytes 5-17/18", "ETag", `"v2"`), again: true},
		"a range without a tag":       {answer: part(206, text[5:], at, "bytes 5-17/18"), again: true},
		"a weak tag":                  {answer: part(206, text[5:], at, "bytes 5-17/18", "ETag", `W/"v1"`), again: true},
		"a tag for a date":            {answer: part(206, text[5:], at, "bytes 5-17/18", "ETag", `"v2"`), validator: date, again: true},
		"another date":                {answer: part(206, text[5:], at, "bytes 5-17/18", "Last-Modified", "Sat, 01 Feb 2020 10:00:01 GMT"), validator: date, again: true},
		"another range":               {answer: part(206, text[4:], at, "bytes 4-17/18", "ETag", tag), again: true},
		"an earlier range":            {answer: part(206, text[4:17], at, "bytes 4-17/18", "ETag", tag), again: true},
		"a part of it":                {answer: part(206, text[5:9], at, "bytes 5-8/18", "ETag", tag), again: true},
		"another size":                {answer: part(206, text[5:]+".", at, "bytes 5-18/19", "ETag", tag), again: true},
		"no range":                    {answer: part(206, text[5:], "ETag", tag), again: true},
		"a range without a size":      {answer: part(206, text[5:], at, "bytes 5-17/*", "ETag", tag), again: true},
		"rubbish":                     {answer: part(206, text[5:], at, "bytes -5-17/18", "ETag", tag), again: true},
		"other units":                 {answer: part(206, text[5:], at, "lines 5-17/18", "ETag", tag), again: true},
		"several ranges":              {answer: part(206, text[5:], "Content-Type", "multipart/byteranges; boundary=x", "ETag", tag), again: true},
		"another length":              {answer: part(206, text[:5], at, "bytes 5-17/18", "ETag", tag), again: true},
		"the rest as 200":             {answer: part(200, text[5:], at, "bytes 5-17/18", "ETag", tag), from: 5},
		"another range as 200":        {answer: part(200, text[4:17], at, "bytes 4-17/18", "ETag", tag), again: true},
		"another tag as 200":          {answer: part(200, text[5:], at, "bytes 5-17/18", "ETag", `"v2"`), again: true},
		"a part that does not say so": {answer: part(200, text[5:], "ETag", tag), again: true},
		"beyond its end":              {answer: part(416, "", at, "bytes */3"), again: true},
		"a failed condition":          {answer: part(412, ""), again: true},
		"too short": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X") // so that the length is not said
			part(206, text[5:9], at, "bytes 5-17/18", "ETag", tag)(w, r)
		}, from: 5, fails: CodeUnreachable},
		"too long": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X")
			part(206, text[5:]+" and more", at, "bytes 5-17/18", "ETag", tag)(w, r)
		}, from: 5, fails: CodeUnreachable},
		"a fault": {answer: part(503, ""), fails: CodeHTTPStatus},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.validator == "" {
				c.validator = tag
			}
			var mu sync.Mutex
			var asked []string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
				mu.Unlock()
				if r.Header.Get("Range") != "" {
					c.answer(w, r)
					return
				}
				_, _ = io.WriteString(w, text)
			})
			body, info, err := local(t, quick()).Get(t.Context(), s.URL, GetOptions{Beginning: &Beginning{Bytes: 5, Validator: c.validator, Size: int64(len(text))}})
			var got []byte
			if err == nil {
				got, err = io.ReadAll(body)
				err = errors.Join(err, body.Close())
			}
			want := []string{"bytes=5- " + c.validator}
			if c.again {
				want = append(want, " ")
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(asked, "|") != strings.Join(want, "|") {
				t.Errorf("asked %q, want %q", asked, want)
			}
			if c.fails != "" {
				var e *Error
				if !errors.As(err, &e) || e.Code != c.fails || !e.Temporary {
					t.Errorf("it ends with %v", err)
				}
				return
			}
			if err != nil || string(got) != text[c.from:] || info.From != c.from || info.Size != int64(len(text)) || c.from > 0 && info.Validator != c.validator {
				t.Errorf("%q, %+v, %v", got, info, err)
			}
		})
	}
}

// TestRestKeepsTheLimit: a rest that makes the file larger than allowed is refused before it comes.
func TestRestKeepsTheLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Range", "bytes 5-10/11")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 6))
	})
	_, _, err := local(t, quick()).Get(t.Context(), s.URL, GetOptions{MaxBytes: 10, Beginning: &Beginning{Bytes: 5, Validator: `"v1"`, Size: -1}})
	fails(t, err, CodeTooLarge, domain.ClassContent)
}

// TestStrongValidators: only what names a content strictly is asked by (RFC 9110, 8.8 and 13.1.5).
func TestStrongValidators(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	date := func(ago time.Duration) string { return now.Add(-ago).Format(http.TimeFormat) }
	for name, c := range map[string]struct{ tag, modified, date, want string }{
		"a tag":               {tag: `"v1"`, modified: date(time.Hour), date: date(0), want: `"v1"`},
		"a weak tag":          {tag: `W/"v1"`, modified: date(time.Hour), date: date(0)},
		"no tag":              {tag: `v1`, modified: date(time.Hour), date: date(0)},
		"half a tag":          {tag: `"`, modified: date(time.Hour), date: date(0)},
		"an old date":         {modified: date(time.Hour), date: date(0), want: date(time.Hour)},
		"a date of just now":  {modified: date(time.Second), date: date(0)},
		"a date to come":      {modified: date(-time.Hour), date: date(0)},
		"when is not said":    {modified: date(time.Hour)},
		"a date that is none": {modified: "yesterday", date: date(0)},
		"nothing":             {},
	} {
		h := http.Header{}
		for key, value := range map[string]string{"ETag": c.tag, "Last-Modified": c.modified, "Date": c.date} {
			if value != "" {
				h.Set(key, value)
			}
		}
		if got := validatorOf(h); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
