// Package wire puts the program together from what the settings name: the three
// servers, the object store, the working directory and the profiles, and of these the
// use cases, the daemons, the relay, the sweeper and the projector. It is the only
// package that imports the adapters behind the ports.
package wire
