package console

import (
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
)

// withdraw is the verb that requests the withdrawal of an object.
const withdraw = "withdraw"

var withdrawalColumns = columns[withdrawal.Withdrawal]{operation: "object.withdrawals", title: "Withdrawals", none: "No withdrawal of an object was requested: the page of an object does that.", list: []column[withdrawal.Withdrawal]{
	{"id", "Object", func(w withdrawal.Withdrawal) any { return cell.To(w.ID, toObject(w.ID)) }},
	{"state", "State", func(w withdrawal.Withdrawal) any { return cell.State(w.State) }},
	decides("approve"),
	decides("reject"),
	{"collection", "Collection", func(w withdrawal.Withdrawal) any { return w.Collection }},
	{"reason", "Why", func(w withdrawal.Withdrawal) any { return w.Reason }},
	{"requested_by", "Requested by", func(w withdrawal.Withdrawal) any { return w.RequestedBy }},
	{"requested_at", "Requested", func(w withdrawal.Withdrawal) any { return w.RequestedAt }},
	{"decided_by", "Decided by", func(w withdrawal.Withdrawal) any { return w.DecidedBy }},
	{"decided_at", "Decided", func(w withdrawal.Withdrawal) any { return w.DecidedAt }},
	{"decision", "Why so", func(w withdrawal.Withdrawal) any { return w.Decision }},
	{"removed_at", "Content removed", func(w withdrawal.Withdrawal) any { return w.RemovedAt }},
}}

// decides returns the ways to decide a withdrawal that was requested.
func decides(verb string) column[withdrawal.Withdrawal] {
	return column[withdrawal.Withdrawal]{"", wordsOf(verb), func(w withdrawal.Withdrawal) any {
		if w.State != withdrawal.Requested {
			return nil
		}
		return cell.To(wordsOf(verb), toObject(w.ID)+"/do/"+verb)
	}}
}

// withdrawals is the list of requests to withdraw objects, with what is to be decided: who requested
// one cannot approve it.
func (c *Console) withdrawals() further {
	const about = "Objects whose content is to go: what waits for a second user, and what became of it"
	return listOf(c, "withdrawals", about, withdrawalColumns, acts, field{Name: "state", Label: "State", Choices: withdrawal.States})
}
