package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/accession-ingest/accession/domain"
)

var (
	errTooSlow  = errors.New("the minimum rate was not kept")
	errDeadline = errors.New("the deadline of the request passed")
)

// classify turns an error of the transport into an *Error. ctx is the context of
// the request, whose cause says why it ended.
func classify(ctx context.Context, shown string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	// Its text holds the whole URL.
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err
	}
	if ctx.Err() != nil {
		return ended(shown, context.Cause(ctx))
	}
	is := func(code domain.Code, class domain.Class, temporary bool, message, hint string) *Error {
		return &Error{URL: shown, cause: err, Code: code, Class: class, Temporary: temporary, Message: message, Hint: hint}
	}
	var (
		refused *refusal
		dns     *net.DNSError
		timeout interface{ Timeout() bool }
	)
	const askServer = "see whether the server runs and can be reached from outside"
	switch {
	case errors.As(err, &refused):
		return is(CodeAddressRefused, domain.ClassContent, false, "the host leads to an address or port that this collection may not reach",
			"use a public server, or let an operator add the address to the collection's fetch.allow")
	case errors.As(err, &timeout) && timeout.Timeout():
		return is(CodeTimeout, domain.ClassTimeout, true, "the server did not answer in time", askServer)
	case errors.As(err, &dns) && dns.IsNotFound:
		return is(CodeUnreachable, domain.ClassContent, true, "the host's name is not known", "correct the host's name")
	case errors.As(err, &dns) && dns.IsTemporary && dns.Err == nameServerFailed:
		return is(CodeUnreachable, domain.ClassContent, true, "the name service of the host answers with an error", "see whether the host's name service works")
	case errors.As(err, &dns):
		e := is(CodeUnreachable, domain.ClassSystem, true, "the host's name could not be looked up", "see whether this machine's name service works")
		e.Ours = unasked(dns)
		return e
	case badTLS(err):
		return is(CodeUnreachable, domain.ClassContent, false, "the server's certificate cannot be trusted, or it does not speak TLS",
			"let the server's owner renew the certificate or correct the URL")
	case anyOf(err, syscall.ECONNREFUSED):
		return is(CodeUnreachable, domain.ClassContent, true, "the server refuses connections", askServer)
	case anyOf(err, syscall.ENETUNREACH, syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL):
		e := is(CodeUnreachable, domain.ClassSystem, true, "this machine could not open a connection", "look at its network and its limit of open files")
		e.Ours = !anyOf(err, syscall.ENETUNREACH) // which a router before the server may say too
		return e
	case anyOf(err, io.ErrUnexpectedEOF, io.EOF, syscall.ECONNRESET, syscall.EPIPE):
		return is(CodeUnreachable, domain.ClassContent, true, "the connection broke before everything had arrived", askServer)
	}
	if strings.HasPrefix(err.Error(), badLocation) {
		return content(CodeRedirectRefused, shown, "give the address of the file itself", "the server redirects to something that is not a URL")
	}
	err = unquoted(err)
	return is(CodeUnreachable, domain.ClassContent, true, "the server could not be reached, or does not answer in HTTP", askServer)
}

const (
	// nameServerFailed is how package net reports SERVFAIL: the name service that is
	// responsible for the host fails, or the chain to it; ours has answered.
	nameServerFailed = "server misbehaving"
	// badLocation begins net/http's error about a redirect; the rest is the address.
	badLocation = "failed to parse Location header"
)

// unquoted returns an error of net/http without what it quotes of the server's answer,
// which may be a secret, such as a signed URL, or control a terminal.
func unquoted(err error) error {
	if header := textproto.ProtocolError(""); errors.As(err, &header) {
		return errors.New("the header of the answer is malformed")
	}
	if said, _, cut := strings.Cut(err.Error(), `"`); cut {
		return errors.New(strings.TrimSpace(said) + " …")
	}
	return err
}

// unasked reports whether our name service could not be asked: the error is that of a
// connection to it. What it answers may be the doing of the host's name service.
func unasked(err *net.DNSError) bool {
	return slices.ContainsFunc([]string{"dial ", "read ", "write "}, func(op string) bool { return strings.HasPrefix(err.Err, op) })
}

// badTLS reports whether an error is about the server's certificate or TLS itself.
func badTLS(err error) bool {
	var (
		unverified *tls.CertificateVerificationError
		notTLS     tls.RecordHeaderError
		host       x509.HostnameError
		authority  x509.UnknownAuthorityError
		invalid    x509.CertificateInvalidError
	)
	return errors.As(err, &unverified) || errors.As(err, &notTLS) || errors.As(err, &host) || errors.As(err, &authority) || errors.As(err, &invalid)
}

// anyOf reports whether an error is one of those named.
func anyOf(err error, named ...error) bool {
	return slices.ContainsFunc(named, func(n error) bool { return errors.Is(err, n) })
}

// ended returns the error of a request whose context ended, by its cause.
func ended(shown string, cause error) *Error {
	is := func(code domain.Code, class domain.Class, temporary bool, message, hint string) *Error {
		return &Error{URL: shown, cause: cause, Code: code, Class: class, Temporary: temporary, Message: message, Hint: hint}
	}
	switch {
	case errors.Is(cause, errTooSlow):
		return is(CodeTooSlow, domain.ClassTimeout, true, "the server sent less than the minimum rate, or nothing at all",
			"see whether the server is overloaded, or lower the collection's fetch.min_rate")
	case errors.Is(cause, errDeadline):
		return is(CodeTimeout, domain.ClassTimeout, true, "the request took longer than allowed",
			"see whether the server is overloaded, or raise the collection's fetch.timeout")
	case errors.Is(cause, context.DeadlineExceeded):
		return is(CodeTimeout, domain.ClassTimeout, false, "the time for this work is used up", "")
	default:
		return is(CodeCancelled, domain.ClassCancelled, false, "the request was cancelled", "")
	}
}

// statusError returns the error of an answer that is not the file.
func statusError(shown string, resp *http.Response, now time.Time) *Error {
	e := content(CodeHTTPStatus, shown, "", "the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	e.Status = resp.StatusCode
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		e.Hint = "correct the URL, or put the file there"
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Hint = "make the file readable without a login, or give a signed URL that is still valid"
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.Temporary, e.Hint = true, "see whether the server is overloaded"
		e.After = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return e
}

// retryAfter parses a Retry-After header: seconds, or a date. 0 = none or past.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
