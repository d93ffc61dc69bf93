package main

// pages: what the console shows and asks for.
var pages = []Mutant{{
	Name: "where the way leads on from the page to sign in", Why: "a link to the page to sign in leads on to a page of another host, which asks for the password again",
	At: "cmd/internal/console ours", Do: []Op{Always("HasPrefix")},
	Package: "cmd/internal/console", Test: "TestSignIn",
}, {
	Name: "texts of outsiders on one line", Why: "a name turns around how the page beside it reads",
	At: "cmd/internal/console/internal/cell Line", Do: []Op{Return("s", "Line")},
	Package: "cmd/internal/console", Test: "TestHostileNames",
}, {
	Name: "the preview of a form", Why: "a right is granted before the administrator has seen what it is",
	At: "cmd/internal/console (*Console).carryOut", Do: []Op{Never("PostForm", "Filled")},
	Package: "cmd/internal/console", Test: "TestPeopleForms",
}, {
	Name: "the trial of what a form asks for", Why: "an operator gives a reason for what was not tried before",
	At: "cmd/internal/console tried", Do: []Op{Drop("request", "dry_run")},
	Package: "cmd/internal/console", Test: "TestFormsOfInputs",
}, {
	Name: "the version that a form was filled with", Why: "an administrator overwrites what another one has set while the form was open",
	At: "cmd/internal/console tried", Do: []Op{Drop("Set", "If-Match")},
	Package: "cmd/internal/console", Test: "TestProfileForms",
}, {
	Name: "a password that was written twice", Why: "a typing error locks a user out",
	At: "cmd/internal/console/internal/question passwordIn", Do: []Op{Never("again")},
	Package: "cmd/internal/console", Test: "TestSecretsOfForms",
}, {
	Name: "pages for those who see all collections", Why: "the first page of a depositor is an error",
	At: "cmd/internal/console everywhere", Do: []Op{Compare("==", "Depositor")},
	Package: "cmd/internal/console", Test: "TestPagesWithinRights",
}, {
	Name: "the version that an action is shown for", Why: "an operator deletes what another one has just repaired",
	At: "cmd/internal/console (*Console).carryOut", Do: []Op{Drop("Set", "If-Match")},
	Package: "cmd/internal/console", Test: "TestActions",
}, {
	Name: "the key of an action", Why: "a form that is sent twice acts twice",
	At: "cmd/internal/console (*Console).carryOut", Do: []Op{Drop("Set", "Idempotency-Key")},
	Package: "cmd/internal/console", Test: "TestActions",
}, {
	Name: "the preview of a command to all", Why: "who looks what a command would be about gives it",
	At: "cmd/internal/console (*Console).previewMany", Do: []Op{Text("dry_run", "x")},
	Package: "cmd/internal/console", Test: "TestActions",
}, {
	Name: "the cookie, kept from the uploads of the API", Why: "the session of a browser goes where only keys go",
	At: "cmd/internal/console (*Console).pieces", Do: []Op{Drop("Del", "Cookie")},
	Package: "cmd/internal/console", Test: "TestPieces",
}, {
	Name: "the failed jobs that a requeue is about", Why: "who requeues the failures of one server requeues those of others too",
	At: "cmd/internal/console failuresOf", Do: []Op{Always("Jobs")},
	Package: "cmd/internal/console", Test: "TestFailuresByReason",
}, {
	Name: "the priority that was previewed", Why: "a job gets another priority than the one that its operator saw",
	At: "cmd/internal/console (act).query", Do: []Op{Drop("Set", "to")},
	Package: "cmd/internal/console", Test: "TestPriority",
}, {
	Name: "what a browser does with the files of depositors", Why: "a page from a depositor acts as the operator who looks at it",
	At: "cmd/internal/console (*asReport).Write", Do: []Op{Drop("Set", "reportPolicy")},
	Package: "cmd/internal/console", Test: "TestThings",
}, {
	Name: "the end of a page of events", Why: "a page of events from a year ago reads the log up to now into memory",
	At: "cmd/internal/console (*bounded).Write", Do: []Op{Never("most")},
	Package: "cmd/internal/console", Test: "TestEventsPage",
}, {
	Name: "the overview of a moment", Why: "who looks at a moment of the past is shown what is now",
	At: "cmd/internal/console (*Console).overview", Do: []Op{Never("Has")},
	Package: "cmd/internal/console", Test: "TestOverviewOfAMoment",
}, {
	Name: "the moment that a way is from", Why: "who follows what had failed then is shown, without a word, what is now",
	At: "cmd/internal/console keepsMoment", Do: []Op{Never("hasMoments")},
	Package: "cmd/internal/console", Test: "TestMomentIsKept",
}, {
	Name: "a page whose events are cut off", Why: "a page that lacks events looks as if there were no others",
	At: "cmd/internal/console/internal/ask From", Do: []Op{Drop("ErrCutOff")},
	Package: "cmd/internal/console", Test: "TestLifeThatIsCutOff",
}, {
	Name: "tables of a page that there are", Why: "who writes the name of a table wrong takes another order, or the page, for what was asked for",
	At: "cmd/internal/console/internal/table (*Within).Err", Do: []Op{Never("sorts")},
	Package: "cmd/internal/console", Test: "TestTablesOfOnePage",
}, {
	Name: "the order of a table within a page", Why: "a page that says to be sorted has its rows, and its file, in another order",
	At: "cmd/internal/console/internal/table (Columns).In", Do: []Op{Never("by")},
	Package: "cmd/internal/console", Test: "TestEachTable",
}, {
	Name: "the whole of a table that shows the first", Why: "a file that looks whole has the first fifty jobs of a batch",
	At: "cmd/internal/console (*batchPage).tables", Do: []Op{DropCase("Truncated")},
	Package: "cmd/internal/console", Test: "TestTablesOfOnePage",
}, {
	Name: "no order of a part of the failed attempts", Why: "the first thousand of many look as if they were all, in order",
	At: "cmd/internal/console (*batchPage).tables", Do: []Op{DropCase("RetriesTotal", "most")},
	Package: "cmd/internal/console", Test: "TestTablesOfOnePage",
}, {
	Name: "the key of a deposit by a form", Why: "a form that is sent twice deposits twice",
	At: "cmd/internal/console (*Console).byFile", Do: []Op{Drop("Set", "Idempotency-Key")},
	Package: "cmd/internal/console", Test: "TestDepositForm",
}, {
	Name: "the right to command all entries, queries and deposits", Why: "who operates one collection is offered what is refused",
	At: "cmd/internal/console listPage", Do: []Op{Always("mayAct")},
	Package: "cmd/internal/console", Test: "TestCommandsToAll",
}}
