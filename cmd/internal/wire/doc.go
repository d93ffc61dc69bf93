// Package wire composes the program from its settings: it opens the three servers, the
// object store, the working directory and the profiles, and makes the use cases, the
// daemons, the relay, the sweeper and the projector with them. It is the only package
// that imports the adapters behind the ports.
package wire
