package profile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/metadata"
)

// Profile is the content of one file.
type Profile struct {
	// Name is the profile_name of submissions: 1 to 64 of a–z, 0–9, _
	// and -, the first a letter or digit. Required; unique.
	Name string `yaml:"name" json:"name"`
	// Collection is what holds are set on: printable ASCII without space, slash
	// and colon. Required; unique, for a profile describes one collection.
	Collection string `yaml:"collection" json:"collection"`
	// Owner is who answers for the collection, in words. Required.
	Owner string `yaml:"owner" json:"owner"`
	// Description is for people.
	Description string `yaml:"description" json:"description"`

	Identifier Identifier `yaml:"identifier" json:"identifier"`

	// Storage is the URL of the bucket that keeps the objects, without user name
	// and password; "default" is that of the installation. A URL of https is that of a
	// service outside, which gets each version from the installation's bucket.
	Storage string `yaml:"storage" json:"storage"`
	// Layout is how the objects are laid out there: LayoutOCFL, or "" for Accession's own
	// layout. It counts for versions that are stored from then on. A file may say accession
	// for "".
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
	// Replicas are the URLs of other buckets, up to 4, that get a copy of each version after
	// it is stored, without user name and password. Default none.
	Replicas []string `yaml:"replicas,omitempty" json:"replicas,omitempty"`

	// Recording is the URL of a service outside that records each stored version, before the
	// inventory of Accession does: https, without user name, password and query. "" = none.
	Recording string `yaml:"recording,omitempty" json:"recording,omitempty"`
	// ServiceTimeout is how long a service outside may have what it has taken, 1s to 168h; then
	// the job fails. Default 24h.
	ServiceTimeout Duration `yaml:"service_timeout,omitempty" json:"service_timeout,omitempty"`

	Priority Priority `yaml:"priority" json:"priority"`
	Callback Callback `yaml:"callback" json:"callback"`
	Notify   Notify   `yaml:"notify" json:"notify"`

	// DigestAlgorithm is the one by which files without a digest of their own are
	// recorded: adler32, crc32, md5, sha1, sha256, sha384 or sha512. Default sha256.
	DigestAlgorithm manifest.Algorithm `yaml:"digest_algorithm" json:"digest_algorithm"`

	// WorkingDir is the absolute path of a directory that all workers share; "" is
	// that of the installation.
	WorkingDir string `yaml:"working_dir" json:"working_dir"`

	Fetch  Fetch  `yaml:"fetch" json:"fetch"`
	Limits Limits `yaml:"limits" json:"limits"`

	// Metadata are the kinds of metadata files that are taken, up to 16. Default none.
	Metadata []Metadata `yaml:"metadata,omitempty" json:"metadata,omitempty"`

	// Steps are the steps of their own that jobs have between downloading and storing, in
	// their order, up to 8. Default none.
	Steps []Step `yaml:"steps,omitempty" json:"steps,omitempty"`

	// Outside are the states whose work is left to workers outside. Default none.
	Outside []Outside `yaml:"outside,omitempty" json:"outside,omitempty"`

	// ResponseType is the form of callbacks: json, xml or html. Default json.
	ResponseType string `yaml:"response_type" json:"response_type"`

	// File is where the profile was read from.
	File string `yaml:"-" json:"-"`
	// Version names the content: it changes whenever the profile does.
	Version string `yaml:"-" json:"-"`
}

// LayoutOCFL is OCFL 1.1, the Oxford Common File Layout.
const LayoutOCFL = "ocfl"

// Identifier is how new objects are named.
type Identifier struct {
	Scheme   string `yaml:"scheme" json:"scheme"`     // ark, which is also the default, or doi
	NAAN     string `yaml:"naan" json:"naan"`         // name-assigning number of ARKs, 5 to 9 digits or consonants. Required for ark
	Shoulder string `yaml:"shoulder" json:"shoulder"` // begins every name: consonants, then a digit, such as fk4. Required

	// Prefix is that of DOIs: 10. and 4 to 6 digits. Required for doi.
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	// Minter is who makes the identifiers known: MinterEZID for ARKs, MinterDataCite for DOIs,
	// "" = no service: ARKs are made here alone. A file may say local for "".
	Minter string `yaml:"minter,omitempty" json:"minter,omitempty"`
	// URL is below which the service answers. Required with one.
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	// Target is where identifiers lead: a URL in which {id} stands for the identifier. "" = the
	// service reserves them, and they lead nowhere yet.
	Target string `yaml:"target,omitempty" json:"target,omitempty"`
}

// The services that make identifiers known.
const (
	MinterEZID     = "ezid"
	MinterDataCite = "datacite"
)

// StorageService returns the URL of the service that stores the objects, "" = none.
func (p Profile) StorageService() string {
	if isWeb(p.Storage) {
		return p.Storage
	}
	return ""
}

// Bucket returns the URL of the bucket that keeps the objects; "default" is that of the
// installation.
func (p Profile) Bucket() string {
	if p.Storage == "" || isWeb(p.Storage) {
		return DefaultBucket
	}
	return p.Storage
}

// The fields that name services outside, as keys of requests to these have them.
const (
	FieldStorage   = "storage"
	FieldRecording = "recording"
)

// DefaultBucket names the bucket of the installation.
const DefaultBucket = "default"

// Authority returns the name-assigning number of ARKs, or the prefix of DOIs.
func (i Identifier) Authority() string {
	if i.Scheme == schemeDOI {
		return i.Prefix
	}
	return i.NAAN
}

// TargetOf returns the URL to which an identifier leads, "" = none.
func (i Identifier) TargetOf(identifier string) string {
	return strings.ReplaceAll(i.Target, targetID, identifier)
}

const (
	schemeARK = "ark"
	schemeDOI = "doi"
	// targetID stands for the identifier in a target.
	targetID = "{id}"
)

// Priority is the order of jobs: 0 to 99, lower runs first.
type Priority struct {
	Default     int         `yaml:"default" json:"default"` // default 5
	LargeBatch  LargeBatch  `yaml:"large_batch" json:"large_batch"`
	LargeObject LargeObject `yaml:"large_object" json:"large_object"`
	// UnknownSize is that of jobs of which no server states the size of at least one file, at
	// least Default; nil = it makes no difference. Default nil.
	UnknownSize *int `yaml:"unknown_size,omitempty" json:"unknown_size,omitempty"`
}

// LargeBatch makes the jobs of large batches less urgent, so that they do not
// starve small ones.
type LargeBatch struct {
	Jobs     int `yaml:"jobs" json:"jobs"`         // from how many jobs on; 0 = never. Default 1000
	Priority int `yaml:"priority" json:"priority"` // at least Priority.Default. Default 10
}

// LargeObject makes large objects less urgent once their size is known.
type LargeObject struct {
	Bytes    Bytes `yaml:"bytes" json:"bytes"`       // from how many bytes on; 0 = never. Default 10 GiB
	Priority int   `yaml:"priority" json:"priority"` // at least Priority.Default. Default 10
}

// Callback is where completed jobs are announced.
type Callback struct {
	// URL gets a POST per job: http or https, without user name, password and
	// fragment. "" = none.
	URL string `yaml:"url" json:"url"`
}

// Notify are the mails that a batch causes.
type Notify struct {
	From string   `yaml:"from" json:"from"` // address of the sender; required when On is not empty
	To   []string `yaml:"to" json:"to"`     // addresses, each a bare user@host; required when On is not empty
	On   []Mail   `yaml:"on" json:"on"`     // default none
}

// Mail is a kind of mail.
type Mail string

// The kinds of mail.
const (
	MailQueued Mail = "queued" // the batch was accepted
	MailReport Mail = "report" // the batch, or its update, was reported
)

// Fetch is from where and how files are downloaded.
type Fetch struct {
	// Allow opens addresses that are closed otherwise, such as those of the local
	// network: IP prefixes (10.1.0.0/16) and host:port; buckets, or what in them begins
	// so (s3://BUCKET/, s3://BUCKET/PREFIX/); and directories of the service's machine
	// (file:///DIRECTORY/) or of a user of an SFTP server (sftp://USER@HOST/DIRECTORY/). Public
	// addresses need no entry, buckets and directories always do. Default none.
	Allow []string `yaml:"allow" json:"allow"`
	// Attempts is how often each request is made, for a file, a manifest or the
	// callback: 1 to 100. Default 16, which takes over an hour.
	Attempts int      `yaml:"attempts" json:"attempts"`
	Timeout  Duration `yaml:"timeout" json:"timeout"`   // for one attempt, 1s to 168h. Default 1h
	MinRate  Bytes    `yaml:"min_rate" json:"min_rate"` // bytes per second below which an attempt is given up; 0 = any. Default 16 KiB
	Parallel int      `yaml:"parallel" json:"parallel"` // files of a job at once, 1 to 64. Default 4
}

// Limits bound what a deposit may ask for.
type Limits struct {
	MaxFiles         int   `yaml:"max_files" json:"max_files"`                   // files of an object, 1 to 1,000,000. Default 10,000
	MaxFileBytes     Bytes `yaml:"max_file_bytes" json:"max_file_bytes"`         // size of a file, at least 1. Default 1 TiB
	MaxRows          int   `yaml:"max_rows" json:"max_rows"`                     // objects of a batch, 1 to 1,000,000. Default 50,000
	MaxManifestBytes Bytes `yaml:"max_manifest_bytes" json:"max_manifest_bytes"` // size of a manifest, 1 KiB to 1 GiB. Default 64 MiB
	MaxUnpackedBytes Bytes `yaml:"max_unpacked_bytes" json:"max_unpacked_bytes"` // all files of a container, at least 1. Default 1 TiB
	MaxRatio         int   `yaml:"max_ratio" json:"max_ratio"`                   // bytes that come of each byte of a container, 1 to 100,000; counts from 16 MiB on. Default 100
	MaxDepth         int   `yaml:"max_depth" json:"max_depth"`                   // folders in each other in a container, 1 to 1,000. Default 32
}

// Container returns the limits of containers.
func (l Limits) Container() container.Limits {
	return container.Limits{Files: l.MaxFiles, FileBytes: int64(l.MaxFileBytes), Bytes: int64(l.MaxUnpackedBytes), Ratio: int64(l.MaxRatio), Depth: l.MaxDepth}
}

// Metadata is a kind of metadata files, in the texts of [metadata.ParseFormat].
type Metadata struct {
	Root       string `yaml:"root" json:"root"`                       // root element of the file. Required; unique
	Record     string `yaml:"record" json:"record"`                   // path from the root to a record. Required
	Identifier string `yaml:"identifier" json:"identifier"`           // path from a record to its identifier. Required
	Title      string `yaml:"title,omitempty" json:"title,omitempty"` // path from a record to its title; "" = it needs none
}

// Step is work on the files of each object that a worker of the compute queue does.
type Step struct {
	Name string `yaml:"name" json:"name"` // as that of a profile. Required; unique
	// Dataset is that by which workers choose. Default: that of the tasks in processing.
	Dataset string `yaml:"dataset,omitempty" json:"dataset,omitempty"`
	// Priority is 1 to 999; the higher one runs first. Default 100.
	Priority int `yaml:"priority,omitempty" json:"priority,omitempty"`
	// Timeout is how long one worker may have the work, 1s to 168h; then the job fails.
	// Default none.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
}

// Outside is a state whose work is left to workers outside.
type Outside struct {
	State domain.JobState `yaml:"state" json:"state"` // of [compute.OutsideStates]. Required; unique
	// Priority and Timeout are as those of a step.
	Priority int      `yaml:"priority,omitempty" json:"priority,omitempty"`
	Timeout  Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
}

// defaultServiceTimeout is how long a service outside may have what it has taken.
const defaultServiceTimeout = 24 * time.Hour

// ServiceWithin returns how long a service outside may have what it has taken.
func (p Profile) ServiceWithin() time.Duration {
	return cmp.Or(time.Duration(p.ServiceTimeout), defaultServiceTimeout)
}

// LeavesOut returns how the work of a state is left to workers outside, if it is.
func (p Profile) LeavesOut(s domain.JobState) (o Outside, is bool) {
	i := slices.IndexFunc(p.Outside, func(o Outside) bool { return o.State == s })
	if i < 0 {
		return o, false
	}
	return p.Outside[i], true
}

// Formats returns the kinds of metadata files of a valid profile.
func (p Profile) Formats() []metadata.Format {
	formats := make([]metadata.Format, len(p.Metadata))
	for i, m := range p.Metadata {
		formats[i], _ = metadata.ParseFormat(m.Root, m.Record, m.Identifier, m.Title) // validate has done so
	}
	return formats
}

// Defaults returns the values of fields that a file leaves out.
func Defaults() Profile {
	return Profile{
		Identifier: Identifier{Scheme: schemeARK},
		Storage:    DefaultBucket,
		Priority: Priority{
			Default:     domain.PriorityDefault,
			LargeBatch:  LargeBatch{Jobs: 1000, Priority: 10},
			LargeObject: LargeObject{Bytes: 10 << 30, Priority: 10},
		},
		DigestAlgorithm: manifest.SHA256,
		Notify:          Notify{To: []string{}, On: []Mail{}},
		Fetch:           Fetch{Allow: []string{}, Attempts: 16, Timeout: Duration(time.Hour), MinRate: 16 << 10, Parallel: 4},
		Limits: Limits{MaxFiles: 10_000, MaxFileBytes: 1 << 40, MaxRows: 50_000, MaxManifestBytes: 64 << 20,
			MaxUnpackedBytes: 1 << 40, MaxRatio: 100, MaxDepth: 32},
		ResponseType: "json",
	}
}

// ForBatch returns the priority of the jobs of a batch with so many of them.
func (p Priority) ForBatch(jobs int) int {
	if p.LargeBatch.Jobs > 0 && jobs >= p.LargeBatch.Jobs {
		return p.LargeBatch.Priority
	}
	return p.Default
}

// ForObject returns the priority of a job, now current, once the size of its
// object is known. It never makes a job more urgent.
func (p Priority) ForObject(current int, size int64) int {
	if p.LargeObject.Bytes > 0 && size >= int64(p.LargeObject.Bytes) {
		return max(current, p.LargeObject.Priority)
	}
	return current
}

// ForEstimate returns the priority of a job, now current, once the size of its object was
// requested, which some files may have withheld. It never makes a job more urgent.
func (p Priority) ForEstimate(current int, size int64, unknown int) int {
	current = p.ForObject(current, size)
	if p.UnknownSize != nil && unknown > 0 {
		return max(current, *p.UnknownSize)
	}
	return current
}

// Wants reports whether a mail of this kind is sent.
func (n Notify) Wants(m Mail) bool { return slices.Contains(n.On, m) }
