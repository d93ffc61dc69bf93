// Package session is how the store speaks to ZooKeeper: a connection whose calls obey
// their context ([Conn]), the worker that fences the writes of a session ([Session]),
// and the sending of writes whose outcome is refused, written or unknown ([Direct]),
// also many of them at once ([Group]).
package session
