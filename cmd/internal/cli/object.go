package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// withdrawing returns the commands that withdraw objects.
func (p *program) withdrawing() []*cobra.Command {
	const sample = "ark:/99999/fk4x1"
	return verbs(p, "OBJECT", "object", objectID, of("object", objectChange,
		verb[string]{
			name:  "withdraw",
			short: "Request that the content of objects is removed for ever",
			long: `Request that objects are withdrawn: that the content of all their versions is removed
from all stores. Nothing changes until another user, with the role operator or admin in
the collection, approves it (` + "`accession object approve`" + `). --reason is required; it
stays with the tombstone, for those who may see the object. ` + "`accession object reject`" + `
takes the request back.`,
			example: "  accession object withdraw " + sample + " --reason \"the donor's letter of 3 March\" --dry-run\n  accession object withdraw " + sample + " --reason \"the donor's letter of 3 March\"",
			reason:  true,
		},
		verb[string]{
			name:  "approve",
			short: "Approve the withdrawal of objects that another user has requested",
			long: `Approve a withdrawal. From then on no content of the object is served, no job stores a
version of it, and the service (the role daemons) removes its content from all stores and
replicas, for ever. Names, sizes, digests and the history stay. Refused to the user who
has requested it, and while a job is storing a version of the object.`,
			example: "  accession object approve " + sample + " --dry-run\n  accession object approve " + sample + " --yes",
			final:   true,
		},
		verb[string]{
			name:    "reject",
			short:   "Reject the withdrawal of objects, or take your own request back",
			long:    "End requests to withdraw objects: nothing of the objects changes. What was approved\ncannot be rejected.",
			example: "  accession object reject " + sample + " --reason \"the rights are cleared\"",
		})...)
}

func objectID(id string) (string, error) {
	if id == "" {
		return "", errors.New("name an object by its identifier")
	}
	return id, nil
}

func objectChange(id string, change operation.Change) any {
	return &operation.ObjectChange{ObjectID: operation.ObjectID{ID: id}, Change: change}
}
