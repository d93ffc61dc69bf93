package console

import (
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
)

// withdraw is the verb that requests the withdrawal of an object.
const withdraw = "withdraw"

var withdrawalColumns = table.Columns[withdrawal.Withdrawal]{Operation: "object.withdrawals", Title: "Withdrawals", None: "No withdrawal of an object was requested: the page of an object does that.", List: []table.Column[withdrawal.Withdrawal]{
	table.Col("id", "Object", func(w withdrawal.Withdrawal) any { return cell.To(w.ID, toObject(w.ID)) }),
	table.Col("state", "State", func(w withdrawal.Withdrawal) any { return cell.State(w.State) }),
	decides("approve"),
	decides("reject"),
	table.Col("collection", "Collection", func(w withdrawal.Withdrawal) any { return w.Collection }),
	table.Col("reason", "Why", func(w withdrawal.Withdrawal) any { return w.Reason }),
	table.Col("requested_by", "Requested by", func(w withdrawal.Withdrawal) any { return w.RequestedBy }),
	table.Col("requested_at", "Requested", func(w withdrawal.Withdrawal) any { return w.RequestedAt }),
	table.Col("decided_by", "Decided by", func(w withdrawal.Withdrawal) any { return w.DecidedBy }),
	table.Col("decided_at", "Decided", func(w withdrawal.Withdrawal) any { return w.DecidedAt }),
	table.Col("decision", "Why so", func(w withdrawal.Withdrawal) any { return w.Decision }),
	table.Col("removed_at", "Content removed", func(w withdrawal.Withdrawal) any { return w.RemovedAt }),
}}

// decides returns the ways to decide a withdrawal that was requested.
func decides(verb string) table.Column[withdrawal.Withdrawal] {
	return table.Col("", question.Label("objects", verb), func(w withdrawal.Withdrawal) any {
		if w.State != withdrawal.Requested {
			return nil
		}
		return cell.To(question.Label("objects", verb), toObject(w.ID)+"/do/"+verb)
	})
}

// withdrawals is the list of requests to withdraw objects, with what is to be decided: who requested
// one cannot approve it.
func (c *Console) withdrawals() further {
	const about = "Objects whose content is to go: what waits for a second user, and what became of it"
	return listOf(c, "withdrawals", about, withdrawalColumns, acts, field{Name: "state", Label: "State", Choices: withdrawal.States})
}
