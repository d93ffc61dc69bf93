package slot

import (
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

// FromName returns the command that makes the slot of a group as its dataset has it made from
// the name. The error says why the name gives none, see [setting.SlotRule.Window].
func FromName(dataset, group string, r setting.SlotRule) (Add, error) {
	opens, closes, err := r.Window(group)
	if err != nil {
		return Add{}, err
	}
	why := domain.Reason{Class: domain.ClassWait, Code: CodeFromName, Message: fmt.Sprintf("its window is from the name of its group: %s after %s, for %s",
		time.Duration(r.OffsetSeconds)*time.Second, r.Layout, time.Duration(r.LengthSeconds)*time.Second)}
	return Add{Dataset: dataset, Group: group, Opens: opens, Closes: closes, Reason: &why}, nil
}
