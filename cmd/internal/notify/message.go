package notify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// Bounds of a message, in bytes and addresses.
const (
	maxKey     = 255
	maxSubject = 500
	maxText    = 1 << 20
	maxTo      = 100
	maxAddress = 254
	maxFiles   = 10
	// MaxAttachments bounds the attachments of a mail together.
	MaxAttachments = 5 << 20
)

// Recipient reports whether s is an address that mails can be sent to.
func Recipient(s string) bool {
	_, err := address(s)
	return err == nil
}

// Message is one mail, in plain text, and as a page for readers that show one.
type Message struct {
	Key     string    // of the delivery: 1 to 255 bytes without control characters; the same key is the same mail
	From    string    // user@host, or Name <user@host>
	To      []string  // 1 to 100 of the same form
	Subject string    // one line, up to 500 bytes
	Text    string    // up to 1 MiB; lines end in LF or CRLF; control characters but tab are shown as U+FFFD
	HTML    string    // the same as a page, up to 1 MiB; "" = plain text is all
	Files   []File    // attached, up to 10 of them, together up to MaxAttachments
	Date    time.Time // of the mail, not of its writing, so that writing it again gives the same bytes
}

// File is an attachment.
type File struct {
	Name, Type string // its media type
	Data       []byte
}

// Validate returns everything that is wrong with the message, in one *Error with
// CodeMailInvalid.
func (m Message) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if m.Key == "" || len(m.Key) > maxKey || !oneLine(m.Key) {
		bad("the key must be 1 to %d bytes of one line of UTF-8", maxKey)
	}
	if _, err := address(m.From); err != nil {
		bad("from: %w", err)
	}
	if len(m.To) == 0 || len(m.To) > maxTo {
		bad("to: %d addresses; give 1 to %d", len(m.To), maxTo)
	}
	for i, to := range m.To {
		if _, err := address(to); err != nil {
			bad("to[%d]: %w", i, err)
		}
	}
	if strings.TrimSpace(m.Subject) == "" || len(m.Subject) > maxSubject || !oneLine(m.Subject) {
		bad("the subject must be 1 to %d bytes of one line of UTF-8", maxSubject)
	}
	if m.Text == "" || len(m.Text) > maxText || !utf8.ValidString(m.Text) {
		bad("the text must be 1 to %d bytes of UTF-8", maxText)
	}
	if len(m.HTML) > maxText || !utf8.ValidString(m.HTML) {
		bad("the page must be up to %d bytes of UTF-8", maxText)
	}
	attached := 0
	for i, f := range m.Files {
		if attached += len(f.Data); f.Name == "" || len(f.Name) > maxKey || !oneLine(f.Name) {
			bad("attachment %d: the name must be 1 to %d bytes of one line of UTF-8", i, maxKey)
		}
	}
	if len(m.Files) > maxFiles || attached > MaxAttachments {
		bad("%d attachments of %d bytes together; attach up to %d, of up to %d bytes", len(m.Files), attached, maxFiles, MaxAttachments)
	}
	if m.Date.IsZero() || m.Date.Year() < 1970 || m.Date.Year() > 9999 {
		bad("the date is missing or not between 1970 and 9999")
	}
	if err := errors.Join(faults...); err != nil {
		return &Error{Code: CodeMailInvalid, Class: domain.ClassSystem, Message: "mail: " + err.Error(), cause: err}
	}
	return nil
}

// oneLine reports whether s is text in which nothing can hide, least of all a header.
func oneLine(s string) bool {
	return text.Valid(s)
}

// address parses one address; its errors do not quote it, for they are kept where
// addresses are not.
func address(s string) (*mail.Address, error) {
	if !oneLine(s) {
		return nil, errors.New("a line break, control character or wrong UTF-8; write user@host on one line")
	}
	a, err := mail.ParseAddress(s)
	if err != nil || strings.HasSuffix(strings.TrimSpace(s), ";") { // a group of one is parsed as its member
		return nil, errors.New("not an address; write user@host or Name <user@host>")
	}
	if len(a.Address) > maxAddress || strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("an address is up to %d ASCII characters without space; write a foreign host as xn--", maxAddress)
	}
	a.Name = oneSpaced(a.Name)
	return a, nil
}

// oneSpaced returns s with single spaces: folding a long header at several could
// make blank lines, and a blank line ends the headers.
func oneSpaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// Bytes returns the message in the form of RFC 5322, the same bytes each time. The
// error is an *Error with CodeMailInvalid.
func (m Message) Bytes() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	g := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithCharset(gomail.CharsetUTF8), gomail.WithEncoding(gomail.EncodingQP))
	from, _ := address(m.From) // valid, as those of To
	to := make([]*mail.Address, len(m.To))
	for i, s := range m.To {
		to[i], _ = address(s)
	}
	g.FromMailAddress(from)
	g.ToMailAddress(to...)
	g.Subject(oneSpaced(m.Subject))
	g.SetDateWithValue(m.Date.UTC())
	g.SetMessageIDWithValue(halfSum(m.Key) + from.Address[strings.LastIndexByte(from.Address, '@'):])
	// No vacation notes and the like in answer to a program's mail.
	g.SetGenHeader("Auto-Submitted", "auto-generated")
	g.SetBodyString(gomail.TypeTextPlain, plainText(m.Text))
	if m.HTML != "" {
		g.AddAlternativeString(gomail.TypeTextHTML, plainText(m.HTML))
	}
	for _, f := range m.Files {
		err := g.AttachReader(f.Name, bytes.NewReader(f.Data), gomail.WithFileContentType(gomail.ContentType(f.Type)))
		if err != nil {
			return nil, &Error{Code: CodeMailInvalid, Class: domain.ClassSystem, Message: "mail: the attachment cannot be written", cause: err}
		}
	}
	var out bytes.Buffer
	if _, err := g.WriteTo(&out); err != nil {
		return nil, &Error{Code: CodeMailInvalid, Class: domain.ClassSystem, Message: "mail: it cannot be written", cause: err}
	}
	return m.bounded(out.Bytes()), nil
}

// boundary finds the boundary in the head of parts.
var boundary = regexp.MustCompile(`(?m)^ boundary=([0-9a-f]{60})\r?$`)

// bounded returns a message with boundaries that are the same each time it is written, in
// place of the library's, which are drawn. They depend on the parts, so that none of them
// can hold one. The heads of parts come before what the message says: first that of the
// attachments, then that of the text and its page.
func (m Message) bounded(written []byte) []byte {
	parts := []string{m.Key, m.Text, m.HTML}
	for _, f := range m.Files {
		parts = append(parts, f.Name, string(f.Data))
	}
	heads := 0
	if m.HTML != "" {
		heads++
	}
	if len(m.Files) > 0 {
		heads++
	}
	for i, drawn := range boundary.FindAllSubmatch(written, heads) {
		written = bytes.ReplaceAll(written, drawn[1], []byte(halfSum(fmt.Sprint(i)+"\x00"+strings.Join(parts, "\x00"))))
	}
	return written
}

// halfSum returns the first half of the SHA-256 of s in hex.
func halfSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// plainText replaces what a terminal would obey and what a reader cannot see.
func plainText(s string) string { return text.Lines(strings.ReplaceAll(s, "\r\n", "\n")) }
