package domain

import "slices"

// ObjectKey names an object before it has an identifier, and after: 64 lower-case
// hexadecimal digits. Jobs that have a key in common are jobs of one object. They are
// processed one at a time, in the order of their batches and ids, so that the versions of
// the object follow the order of the deposits and of the rows of a manifest.
type ObjectKey string

// KeyOfPrimary returns the key of the object with an identifier, in its normal form. The
// collection is part of it, so that a deposit which names another collection's object
// does not stand in the way of that object's jobs.
func KeyOfPrimary(collection, primary string) ObjectKey {
	return ObjectKey(sum(identity(collection, primary)))
}

// KeyOfLocalID returns the key of the object to which a local id leads: it is a name of
// its owner within a collection.
func KeyOfLocalID(owner, collection, localID string) ObjectKey {
	return ObjectKey(sum(identity(owner, collection, localID)))
}

// ParseObjectKey checks that s is the key of an object.
func ParseObjectKey(s string) (key ObjectKey, ok bool) { return ObjectKey(s), hexDigest(s) }

// Objects returns the keys under which the job stands among the jobs of its object: from
// the event that names them until it has completed, has failed or is deleted. A job that
// is requeued stands there again.
func (j Job) Objects() []ObjectKey {
	if j.State.Sub() != SubProcessing {
		return nil
	}
	return j.Identifiers.ObjectKeys
}

// SameObject reports whether two jobs stand under a common key.
func (j Job) SameObject(o Job) bool {
	return slices.ContainsFunc(j.Objects(), func(k ObjectKey) bool { return slices.Contains(o.Objects(), k) })
}
