package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
)

var operatorsAt = regexp.MustCompile(`"msg":"operators are answered","address":"([^"]+)"`)

// ready asks the process whether it is ready; "" = it does not answer operators yet.
func (s *service) ready() (code int, says string) { return s.asked("/readyz") }

// asked asks it what it tells operators.
func (s *service) asked(path string) (code int, says string) {
	at := operatorsAt.FindStringSubmatch(s.log.tail(1 << 20))
	if at == nil {
		return 0, ""
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Get("http://" + at[1] + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// until waits until the process says so.
func (s *service) until(code int, says string) {
	s.in.t.Helper()
	last := ""
	s.in.until("/readyz to say "+says, func() bool {
		got, text := s.ready()
		if text != last {
			s.in.t.Logf("/readyz: %d %s", got, text)
			last = text
		}
		return got == code && text == says
	})
}
