package codec

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// fromHeaders reads the attributes of a message in binary mode, as programs before
// structured mode wrote it.
func fromHeaders(header map[string][]string) (attributes, error) {
	a := attributes{prefix: "ce-"}
	var fault error
	for _, at := range a.all() {
		text, err := unescape(first(header[at.header]))
		if *at.text = text; err != nil && fault == nil {
			fault = fmt.Errorf("%s: %w", at.header, err)
		}
	}
	if content := first(header[HeaderContentType]); content != binaryMode && a.SpecVersion != "" && fault == nil {
		fault = fmt.Errorf("%s is %q, not %s or %s", HeaderContentType, content, structuredMode, binaryMode)
	}
	return a, fault
}

// unescape decodes a header's value, which is percent-encoded as the HTTP binding of
// CloudEvents requires.
func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	plain, err := url.PathUnescape(s)
	if err != nil {
		return "", errors.New("bad percent-encoding")
	}
	if !validText(plain) {
		return "", errText
	}
	return plain, nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
