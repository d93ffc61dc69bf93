package layout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
)

// DepositQueues returns the path of the directory of the deposit queues.
func (r Root) DepositQueues() string { return r.At("/queues") }

// DepositQueue returns the path of the directory of a deposit queue.
func (r Root) DepositQueue(queue string) string { return r.At("/queues/" + queue) }

// QueueConfig returns the path of the node whose version shows whether a setting of a
// deposit queue has changed. A grab proves that version.
func (r Root) QueueConfig(queue string) string { return r.DepositQueue(queue) + "/config" }

// QueueDefaults returns the path of what is set of a deposit queue itself, a
// domain.DepositQueue.
func (r Root) QueueDefaults(queue string) string { return r.QueueConfig(queue) + "/defaults" }

// QueueUsers returns the path of the directory of the users with limits of their own in a
// deposit queue, by their encoded names.
func (r Root) QueueUsers(queue string) string { return r.QueueConfig(queue) + "/users" }

// QueueProcessors returns the path of the directory of the processors of a deposit queue.
func (r Root) QueueProcessors(queue string) string { return r.QueueConfig(queue) + "/processors" }

// queueSettingDirs returns the directories of the settings of the deposit queues.
func (r Root) queueSettingDirs() []string {
	dirs := []string{r.DepositQueues()}
	for _, queue := range domain.DepositQueues {
		dirs = append(dirs, r.DepositQueue(queue), r.QueueConfig(queue), r.QueueUsers(queue), r.QueueProcessors(queue))
	}
	return dirs
}

// QueueSettings returns the paths of the nodes of the settings that a deposit queue may
// have, and the directories of further ones.
func (r Root) QueueSettings(queue string) (nodes, dirs []string) {
	return []string{r.QueueDefaults(queue)}, []string{r.QueueUsers(queue), r.QueueProcessors(queue)}
}

// QueueSetting returns the setting of a deposit queue that a node below [Root.QueueConfig]
// holds; ok is false for a node of no setting.
func QueueSetting(queue, dir, node string) (a domain.Aggregate, ok bool) {
	kind, name := domain.SettingDepositQueue, queue
	switch {
	case dir == "users":
		kind, name = domain.SettingUserLimit, queue+"-"+node
	case dir == "processors":
		kind, name = domain.SettingProcessor, domain.ProcessorName(queue, node)
	case dir != "" || node != "defaults":
		return a, false
	}
	return domain.SettingAggregate(kind, name), domain.CheckHoldName(kind, name) == nil
}

// queueSettingValue returns the path of the value of a setting of a deposit queue, "" = no
// setting has this name.
func (r Root) queueSettingValue(kind domain.SettingKind, name string) string {
	queue, of, err := domain.SplitQueueName(kind, name)
	switch {
	case err != nil:
		return ""
	case kind == domain.SettingUserLimit:
		return r.QueueUsers(queue) + "/" + text.EncodeUser(of)
	case kind == domain.SettingProcessor:
		return r.QueueProcessors(queue) + "/" + of
	}
	return r.QueueDefaults(queue)
}

// touchQueue adds the write that shows every grab from a deposit queue that a setting of
// it has changed.
func (r Root) touchQueue(ops *Ops, s domain.Setting) {
	if queue, _, err := domain.SplitQueueName(s.Kind, s.Name); s.Kind.OfQueue() && err == nil {
		ops.Set(r.QueueConfig(queue), nil, Any, eventstore.ErrConflict)
	}
}

// ValueOf returns the value of a setting in the data of its node, which was created then.
// A hold that cannot be read counts as set by unknown (see [HoldOf]). Any other value that
// cannot be read is an error: what fell back to a configuration would end attempts that
// others let run, or serve users that are not to be served. newer says that the value has fields
// that this program does not know: what it knows of it counts.
func (r Root) ValueOf(kind domain.SettingKind, name string, data []byte, created time.Time) (v domain.SettingValue, newer bool, err error) {
	var check error
	switch kind {
	case domain.SettingTimeouts:
		v.Timeouts, newer, err = decoded[domain.Timeouts](data)
		check = v.Timeouts.Check()
	case domain.SettingProfile:
		v.Profile, newer, err = decoded[domain.Profile](data)
		check = v.Profile.Check()
	case domain.SettingDataset:
		v.Dataset, newer, err = decoded[domain.Dataset](data)
		check = v.Dataset.Check()
	case domain.SettingDiscovery:
		v.Discovery, newer, err = decoded[domain.Discovery](data)
		check = v.Discovery.Check()
	case domain.SettingDepositQueue:
		v.DepositQueue, newer, err = decoded[domain.DepositQueue](data)
	case domain.SettingUserLimit:
		v.UserLimit, newer, err = decoded[domain.UserLimit](data)
	case domain.SettingProcessor:
		v.Processor, newer, err = decoded[domain.Processor](data)
	default:
		v.Hold = HoldOf(data, created)
	}
	if kind.OfQueue() && err == nil {
		var normal domain.SettingValue
		if normal, check = domain.NormaliseSetting(kind, name, v); check == nil && !reflect.DeepEqual(normal, v) && (!newer || !isUnset(kind, name, v)) {
			check = errors.New("it is not written as this program writes it")
		}
	}
	if err = cmp.Or(err, check); err != nil {
		return domain.SettingValue{}, false, &eventstore.Error{Op: "read " + r.SettingValue(kind, name), Err: errors.Join(eventstore.ErrBroken, err),
			Hint: "the node's data is damaged; `accession verify --repair` writes it again from the log"}
	}
	return v, newer, nil
}

// isUnset reports whether nothing is set in the value of a setting of a deposit queue that this
// program knows.
func isUnset(kind domain.SettingKind, name string, v domain.SettingValue) bool {
	_, user, err := domain.SplitQueueName(kind, name)
	return err == nil && (v.DepositQueue != nil && reflect.DeepEqual(*v.DepositQueue, domain.DepositQueue{}) ||
		v.UserLimit != nil && *v.UserLimit == domain.UserLimit{User: user})
}

// decoded reads a value. newer says that the data has more fields than it.
func decoded[V any](data []byte) (v *V, newer bool, err error) {
	v = new(V)
	if err := json.Unmarshal(data, v); err != nil {
		return v, false, err
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	return v, strict.Decode(new(V)) != nil, nil
}

// valueNode returns the value of a setting for its node, nil = it is not set.
func valueNode(v domain.SettingValue) any {
	switch {
	case v.Hold != nil:
		return v.Hold
	case v.Timeouts != nil:
		return v.Timeouts
	case v.DepositQueue != nil:
		return v.DepositQueue
	case v.UserLimit != nil:
		return v.UserLimit
	case v.Processor != nil:
		return v.Processor
	case v.Profile != nil:
		return v.Profile
	case v.Dataset != nil:
		return v.Dataset
	case v.Discovery != nil:
		return v.Discovery
	}
	return nil
}
