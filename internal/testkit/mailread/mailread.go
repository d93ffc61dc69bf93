// Package mailread reads mails as a mail program does, for tests.
package mailread

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
)

// Mail is one mail. Line ends of its texts are LF.
type Mail struct {
	Header     mail.Header
	Text, HTML string            // the parts that are shown, "" = it has none
	Files      map[string][]byte // attachments, by name
}

// Read reads a mail.
func Read(r io.Reader) (Mail, error) {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return Mail{}, fmt.Errorf("read a mail: %w", err)
	}
	all := Mail{Header: m.Header, Files: map[string][]byte{}}
	err = all.part(textproto.MIMEHeader(m.Header), m.Body)
	return all, err
}

// part adds a part, and those within it.
func (m *Mail) part(h textproto.MIMEHeader, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("read the type of a part: %w", err)
	}
	if strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read a part of %s: %w", kind, err)
			}
			if err := m.part(p.Header, p); err != nil {
				return err
			}
		}
	}
	switch h.Get("Content-Transfer-Encoding") {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("read a part of type %s: %w", kind, err)
	}
	_, disposition, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	switch name := disposition["filename"]; {
	case name != "":
		m.Files[name] = data
	case kind == "text/html":
		m.HTML = text
	default:
		m.Text = text
	}
	return nil
}
