// Package session connects the store to ZooKeeper: a connection whose calls end with
// their context ([Conn]), the worker that fences the writes of a session ([Session]),
// and the sending of writes whose outcome is refused, written or unknown ([Direct]),
// also many of them at once ([Group]).
package session
