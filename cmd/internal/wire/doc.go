// Package wire opens what the settings name and puts the program together: the
// three servers, the object store, the working directory and the profiles, and of
// these the use cases, the daemons, the relay and the projector. It is the only
// package that knows which driver stands behind a port.
package wire
