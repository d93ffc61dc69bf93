package domain

import (
	"errors"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/setting"
)

// SettingKind is the kind of a setting. That of a hold says what it stops.
type SettingKind string

// The kinds of hold that stop something: on a collection (its batches and jobs wait in held), on a
// queue (a pause: no claim there, running work ends).
const (
	HoldCollection SettingKind = "collection"
	HoldQueue      SettingKind = "queue"
)

// SettingTimeouts is the kind of the one setting that says how long attempts at files may
// take, [Timeouts].
const SettingTimeouts SettingKind = "timeouts"

// TimeoutsFiles is its name.
const TimeoutsFiles = "files"

// SettingProfile is the kind of the settings that say which content a profile has, in place
// of its file; the name is that of the profile.
const SettingProfile SettingKind = "profile"

// The kinds of the settings of open directories, which are polled for files: a dataset is
// what the files belong to, a discovery which directory is polled.
const (
	SettingDataset   SettingKind = "dataset"
	SettingDiscovery SettingKind = "discovery"
)

// InDirectory reports whether the settings of the kind are in a directory of their own in the
// live state, under their names.
func (k SettingKind) InDirectory() bool {
	return k == SettingProfile || k == SettingDataset || k == SettingDiscovery
}

// Stops reports whether a setting of the kind stops something, so that what is claimed
// depends on it.
func (k SettingKind) Stops() bool { return k == HoldCollection || k == HoldQueue }

// QueueIngest is the queue whose pause stops every claim.
const QueueIngest = "ingest"

// Hold is a persistent lock that a person set.
type Hold struct {
	By   string `json:"by"`
	When Time   `json:"when"`
	Why  string `json:"why"`
}

// ByUnknown is who set a hold that cannot be read: another program made its node, or
// it is damaged. It holds all the same.
const ByUnknown = "unknown"

// SettingValue is the value of a setting. The field of the setting's kind is set, see
// [SettingKinds].
type SettingValue struct {
	Hold         *Hold         `json:"hold,omitempty"`
	Timeouts     *Timeouts     `json:"timeouts,omitempty"`
	DepositQueue *DepositQueue `json:"deposit_queue,omitempty"`
	UserLimit    *UserLimit    `json:"user_limit,omitempty"`
	Processor    *Processor    `json:"processor,omitempty"`
	Profile      *Profile      `json:"profile,omitempty"`
	Dataset      *Dataset      `json:"dataset,omitempty"`
	Discovery    *Discovery    `json:"discovery,omitempty"`
}

// The values of settings that are more than a [Hold].
type (
	// Timeouts say how long attempts at files may take.
	Timeouts = setting.Timeouts
	// DepositQueue is what operators have set of a deposit queue.
	DepositQueue = setting.DepositQueue
	// UserLimit is what operators have set of the limits of one user.
	UserLimit = setting.UserLimit
	// Processor is what a processor of a deposit queue asks for.
	Processor = setting.Processor
	// Profile names the content that a profile was given.
	Profile = setting.Profile
	// Dataset says what becomes of the files of a dataset.
	Dataset = setting.Dataset
	// Discovery says which open directory is polled.
	Discovery = setting.Discovery
)

// SettingDescription describes a kind of settings.
type SettingDescription struct {
	Kind  SettingKind
	Value string // the field of [SettingValue] that has its value
	Doc   string
}

// SettingKinds are the kinds of settings that have a value.
var SettingKinds = []SettingDescription{
	{HoldCollection, "hold", "A hold on a collection: its batches and jobs wait."},
	{HoldQueue, "hold", "A pause of a queue: nothing is claimed there."},
	{SettingTimeouts, "timeouts", "How long attempts at files may take, for every process of the installation."},
	{SettingDepositQueue, "deposit_queue", "What is set of a deposit queue, metadata or query: the rest is as the configuration says."},
	{SettingUserLimit, "user_limit", "What is set of the limits of a user in a deposit queue; its name is QUEUE-USER, the user encoded."},
	{SettingProcessor, "processor", "What a processor of a deposit queue asks for; its name is QUEUE-NAME."},
	{SettingProfile, "profile", "Which content a profile has in place of its file, by version and SHA-256. The content is in the table record.profile."},
	{SettingDataset, "dataset", "What becomes of the files of a dataset: their collection, profile and groups."},
	{SettingDiscovery, "discovery", "Which open directory is polled for files of a dataset, how often, and which of its files count."},
}

// Value returns the value of the setting, nil = it is not set.
func (s Setting) Value() *SettingValue {
	if s.SettingValue == (SettingValue{}) {
		return nil
	}
	value := s.SettingValue
	return &value
}

// Setting is the state of one setting, such as a hold, a pause or the timeouts. Without
// a value it is released, or not set.
type Setting struct {
	Kind    SettingKind
	Name    string
	Version int64
	SettingValue
	Newer bool // a newer program has set more of it than this one knows
}

// Status returns the state of the setting in a word: of holds and pauses held or open, of
// the others set or unset.
func (s Setting) Status() string {
	states := [2]string{"held", "open"}
	if slices.ContainsFunc(SettingKinds, func(k SettingDescription) bool { return k.Kind == s.Kind && !k.Kind.Stops() }) {
		states = [2]string{"set", "unset"}
	}
	if s.Value() != nil {
		return states[0]
	}
	return states[1]
}

// Aggregate names the setting as an aggregate.
func (s Setting) Aggregate() Aggregate { return SettingAggregate(s.Kind, s.Name) }

// SettingAggregate names the setting of a hold, such as setting/collection:maps.
func SettingAggregate(kind SettingKind, name string) Aggregate {
	return Aggregate{Kind: KindSetting, ID: string(kind) + ":" + name}
}

// CheckHoldName refuses names that a setting of the kind cannot have.
func CheckHoldName(kind SettingKind, name string) error {
	if kind == SettingTimeouts && name != TimeoutsFiles {
		return errors.New("the timeouts are one setting, " + TimeoutsFiles + ", not " + name)
	}
	if kind.InDirectory() {
		return setting.CheckName(string(kind), name)
	}
	if kind.OfQueue() {
		_, _, err := SplitQueueName(kind, name)
		return err
	}
	if name == "" || len(name) > 128 || name == "." || name == ".." {
		return errors.New("a hold needs a name of 1 to 128 bytes")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ':' }) {
		return errors.New("the name of a hold may hold printable ASCII without space, slash and colon only")
	}
	if kind == HoldQueue && name != QueueIngest && !JobState(name).Worked() {
		return errors.New("a pause names " + QueueIngest + " or a state that a daemon works in, not " + name)
	}
	return nil
}

// SettingAudit is the kind of the one setting that stops nothing: its history has
// the maintenance that belongs to no batch, job or hold.
const SettingAudit SettingKind = "audit"

// AuditMaintenance is its name.
const AuditMaintenance = "maintenance"

// Audit returns the setting whose history is that of maintenance, at a version.
func Audit(version int64) Setting {
	return Setting{Kind: SettingAudit, Name: AuditMaintenance, Version: version}
}

// What was restored.
const (
	RestoredZooKeeper = "zookeeper"
	RestoredLog       = "log"
)
