package main

// withdrawn: what keeps the content of objects from going by one person's will, and from staying
// or coming back once two have agreed.
var withdrawn = []Mutant{{
	Name: "the second person of a withdrawal", Why: "one user alone has an object removed for ever",
	At: "cmd/internal/app/withdrawal approval", Do: []Op{DropCase("RequestedBy")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the right to withdraw", Why: "a reader has an object withdrawn",
	At: "cmd/internal/operation (*Call).allowObject", Do: []Op{Never("May")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the refusal of content that was withdrawn", Why: "it is still served, from a store that has it yet or again",
	At: "cmd/internal/app/objects Open", Do: []Op{Call("served", "error(nil)")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the refusal of further versions of what was withdrawn", Why: "a deposit brings a withdrawn object back",
	At: "cmd/internal/record (*Records).ReserveVersion", Do: []Op{Call("notWithdrawn", "error(nil)")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the look at withdrawals before and after a copy", Why: "what was withdrawn waits for ever to be copied to a replica",
	At: "cmd/internal/replica (Keeper).copy", Do: []Op{Call("Withdrawn", "false, error(nil)", "ctx"), Call("Withdrawn", "false, error(nil)", "settling")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the look at withdrawals before files are missed", Why: "the auditor says of what was removed on purpose that it is lost, and copies it back from where it is left",
	At: "cmd/internal/audit (*checker).version", Do: []Op{Drop("files", "nil"), Call("Withdrawn", "false, error(nil)")}, Package: e2e, Test: "TestWithdrawal",
}, {
	Name: "the look for content that was withdrawn", Why: "what a copy of the store brings back stays",
	At: "cmd/internal/audit (*checker).withdrawn", Do: []Op{Always("WithdrawalRemoved")}, Package: e2e, Test: "TestWithdrawal",
}}
