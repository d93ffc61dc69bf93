package domain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
)

// The kinds of the settings of the deposit queues. What is set wins over the
// configuration.
const (
	SettingDepositQueue SettingKind = "deposit_queue" // its name is that of the queue
	SettingUserLimit    SettingKind = "user_limit"    // see [UserLimitName]
	SettingProcessor    SettingKind = "processor"     // see [ProcessorName]
)

// OfQueue reports whether a setting of the kind belongs to a deposit queue, so that what
// is grabbed there depends on it.
func (k SettingKind) OfQueue() bool {
	return k == SettingDepositQueue || k == SettingUserLimit || k == SettingProcessor
}

// DepositQueues are the deposit queues.
var DepositQueues = []string{fair.QueueMetadata, fair.QueueQuery}

// maxProcessor bounds the name of a processor, in bytes.
const maxProcessor = 64

// UserLimitName returns the name of the setting of a user's limits in a queue.
func UserLimitName(queue, user string) string { return queue + "-" + text.EncodeUser(user) }

// ProcessorName returns the name of the setting of a processor of a queue.
func ProcessorName(queue, name string) string { return queue + "-" + name }

// SettingOf returns the kind and the name of a setting.
func SettingOf(a Aggregate) (kind SettingKind, name string) {
	k, name, _ := strings.Cut(a.ID, ":")
	return SettingKind(k), name
}

// SplitQueueName returns the queue that the name of a setting of a deposit queue holds, and
// the user or the processor. It refuses names that no such setting has.
func SplitQueueName(kind SettingKind, name string) (queue, of string, err error) {
	queue, of = name, ""
	if kind != SettingDepositQueue {
		queue, of, _ = strings.Cut(name, "-")
	}
	if !slices.Contains(DepositQueues, queue) {
		return "", "", errors.New("the deposit queues are " + strings.Join(DepositQueues, " and ") + ", not " + queue)
	}
	switch kind {
	case SettingUserLimit:
		if of, err = text.DecodeUser(of); err == nil {
			err = fair.CheckUser(of)
		}
	case SettingProcessor:
		err = CheckProcessorName(of)
	}
	return queue, of, err
}

// CheckProcessorName refuses what cannot be the name of a processor.
func CheckProcessorName(name string) error {
	if name == "" || len(name) > maxProcessor || strings.ContainsFunc(name, func(r rune) bool { return r > '~' || r == '@' || !text.PlainInUser(byte(r)) }) {
		return fmt.Errorf("%q is not the name of a processor: use 1 to %d of A–Z, a–z, 0–9, _ and -", name, maxProcessor)
	}
	return nil
}

// NormaliseSetting returns the value of a setting as it is stored: users sorted and each
// once, and nothing where nothing is set. It names every fault.
func NormaliseSetting(kind SettingKind, name string, v SettingValue) (to SettingValue, err error) {
	if kind.InDirectory() {
		v = SettingValue{Profile: v.Profile, Dataset: v.Dataset, Discovery: v.Discovery}
		return v, errors.Join(v.Profile.Check(), v.Dataset.Check(), v.Discovery.Check())
	}
	queue, of, err := SplitQueueName(kind, name)
	if err != nil {
		return to, err
	}
	switch {
	case kind == SettingDepositQueue && v.DepositQueue != nil:
		to.DepositQueue, err = v.DepositQueue.Normalise(queue)
	case kind == SettingUserLimit && v.UserLimit != nil:
		to.UserLimit, err = v.UserLimit.Normalise(of)
	case kind == SettingProcessor && v.Processor != nil:
		to.Processor, err = v.Processor.Normalise(queue)
	}
	return to, err
}
