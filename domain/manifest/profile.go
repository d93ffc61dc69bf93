package manifest

import "strings"

// Profile says what a manifest lists. Its value is the last part of the URL in
// the #%profile line.
type Profile string

// The four profiles.
const (
	MrtIngest          Profile = "mrt-ingest-manifest"            // one object; a row is one of its files
	MrtBatch           Profile = "mrt-batch-manifest"             // a batch; a row is an object manifest
	MrtContainerBatch  Profile = "mrt-container-batch-manifest"   // a batch; a row is a zip, tar, tar.gz or tar.bz2
	MrtSingleFileBatch Profile = "mrt-single-file-batch-manifest" // a batch; a row is a file, an object of its own
)

// types has, for each profile, the type of its submission and the payload type of its
// jobs.
var types = map[Profile]struct{ submission, payload string }{
	MrtIngest:          {"object_manifest", "object_manifest"},
	MrtBatch:           {"batch_manifest", "object_manifest"},
	MrtContainerBatch:  {"container_batch_manifest", "container"},
	MrtSingleFileBatch: {"file_batch_manifest", "file"},
}

const registry = "http://uc3.cdlib.org/registry/ingest/manifest/"

// ProfileOf returns the profile that a #%profile URL names. Only the last part
// of the path counts: the registry that hosts it is not asked. The error is an
// [Error] with code [UnknownProfile].
func ProfileOf(url string) (Profile, error) {
	name := Profile(url[strings.LastIndexByte(url, '/')+1:])
	if _, known := types[name]; known {
		return name, nil
	}
	return "", fault(0, UnknownProfile, "the profile %s is not known; the #%%profile URL must end in %s, %s, %s or %s",
		excerpt(url), MrtIngest, MrtBatch, MrtContainerBatch, MrtSingleFileBatch)
}

// URL returns the profile's registry URL, as a #%profile line has it.
func (p Profile) URL() string { return registry + string(p) }

// Batch reports whether each row is an object of its own.
func (p Profile) Batch() bool { return p != MrtIngest }

// SubmissionType returns the type of a submission whose payload is a manifest
// of this profile, as batches record it.
func (p Profile) SubmissionType() string { return types[p].submission }

// PayloadType returns the payload type of the jobs that a manifest of this
// profile returns: of the one job of an object manifest, of each row's job
// otherwise.
func (p Profile) PayloadType() string { return types[p].payload }
