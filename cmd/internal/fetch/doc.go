// Package fetch holds the one client for all outgoing requests: payloads,
// manifests and callbacks. No request leaves for an address that the
// configuration does not allow.
//
// # What is allowed
//
// Every public address, on ports 80, 443 and from 1024. Private, local, reserved
// and tunnelled networks are refused, unless the collection's Policy opens them
// by prefix or by host and port. Metadata services of clouds, link-local,
// multicast and unspecified addresses are refused whatever a Policy says.
//
// The decision falls on the resolved address, at the moment of connecting: a
// name that resolves to another address the second time gains nothing. Redirects pass the
// same gate, at most Config.MaxRedirects of them, never from https to http, and
// only for GET and HEAD. A URL with user name and password is refused. Proxies of
// the environment are not used, cookies are not kept, bodies are not unpacked.
// Connections are shared only between requests with the same exceptions.
//
// # Deadlines
//
// Connecting, the TLS handshake and waiting for the answer have each their own
// limit, the whole request has one, and a body must keep a minimum rate, counted
// only while the client waits for the server. See Config and Policy.
//
// # Errors
//
// Every error is an *Error with a stable code, a class that says who must act,
// and whether another attempt may help. It never shows a password, a query
// string, or the address behind a host name.
package fetch
