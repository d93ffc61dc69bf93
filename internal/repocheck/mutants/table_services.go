package main

// services: steps of jobs that services outside do, each once.
var services = []Mutant{{
	Name: "a step that its service has done", Why: "the service is asked again for each step that starts over",
	At: entrust + " (Step).Make", Do: []Op{Call("BeginEffect", "func() (record.Effect, error) { e, err := $0; e.Done = false; return e, err }()")}, Package: entrust, Test: "TestRecordedOnce",
}, {
	Name: "a step that its service has taken", Why: "the service is asked to do it again instead of how far it is",
	At: entrust + " (Step).Make", Do: []Op{Value("looks", "false")}, Package: entrust, Test: "TestLookedAt",
}, {
	Name: "the one clock of a service's time", Why: "a service is late for a worker whose clock is fast, or never for one whose clock is slow",
	At: entrust + " (Step).Make", Do: []Op{Value("now", "domain.At(time.Now())")}, Package: entrust, Test: "TestLookedAt",
}, {
	Name: "the time in which a service must do what it has taken", Why: "a job waits for ever for a service that has lost its work",
	At: entrust + " (Step).Make", Do: []Op{Never("left", "Within")}, Package: entrust, Test: "TestFailedStepIsAskedForAnew",
}, {
	Name: "what is forgotten of a step that its service failed", Why: "a requeue finds the old failure again, and never asks anew",
	At: entrust + " (Step).forget", Do: []Op{Call("AcceptEffect", "func() (record.Effect, error) { return record.Effect{}, nil }()")}, Package: entrust, Test: "TestFailedStepIsAskedForAnew",
}, {
	Name: "of which manifest a service speaks", Why: "a service that recorded something else counts as done",
	At: stepservice + " (Service).done", Do: []Op{Never("EqualFold")}, Package: stepservice, Test: "TestLies",
}, {
	Name: "the server to which a service refers", Why: "the account at the service is sent to another server",
	At: stepservice + " (Service).location", Do: []Op{DropCase("Has")}, Package: stepservice, Test: "TestLies",
}, {
	Name: "the password in the words of a service", Why: "a service that repeats it shows it to depositors",
	At: stepservice + " (Service).words", Do: []Op{Never("p")}, Package: stepservice, Test: "TestRefusals",
}, {
	Name: "the service before the inventory", Why: "a version that the service refuses is in the inventory",
	At: daemon + " (*steps).jobRecording", Do: []Op{Never("entrusted")}, Package: e2e, Test: "TestServicesThatDoNotWork",
}, {
	Name: "the service before the version counts as stored", Why: "a job goes on whose service does not store its version",
	At: daemon + " (*steps).jobProcessing", Do: []Op{Never("entrusted")}, Package: e2e, Test: "TestServicesThatDoNotWork",
}, {
	Name: "the account at one of two services", Why: "the password of one service is sent to the other",
	At: stepservice + " AccountOf", Do: []Op{Never("found")}, Package: stepservice, Test: "TestAccountOf",
}, {
	Name: "the pause before a profile is read again", Why: "half of a file that is being written counts",
	At: "cmd/internal/wire (*setProfiles).reload", Do: []Op{Value("settled", "true")}, Package: "cmd/internal/wire", Test: "TestProfilesInFiles",
}, {
	Name: "what a profile keeps when its file changes", Why: "stored objects are looked for in another store",
	At: "cmd/internal/profile (*Set).Reload", Do: []Op{Call("Fits", "func() error { _ = $0; return nil }()")}, Package: "cmd/internal/wire", Test: "TestProfilesInFiles",
}, {
	Name: "the buckets for which there are drivers", Why: "a profile is taken whose objects nothing can store, and its deposits wait for ever",
	At: "cmd/internal/profile storageProblem", Do: []Op{DropCase("Scheme", "file", "s3")}, Package: "cmd/internal/profile", Test: "TestFaults", Was: true,
}, {
	Name: "the redirects of a service", Why: "the account at the service is sent to another server",
	At: "cmd/internal/fetch (*Client).Do", Do: []Op{Call("WithValue", "req.Context()")}, Package: "cmd/internal/fetch", Test: "TestDoGoesToOneServer",
}, {
	Name: "the service that has taken a step", Why: "another service is never asked, when the profile names it",
	At: entrust + " (Step).Make", Do: []Op{Value("looks", `had.Location != "" && s.Service.Has(had.Location)`)}, Package: entrust, Test: "TestAnotherService",
}}

const (
	entrust     = "cmd/internal/daemon/entrust"
	stepservice = "cmd/internal/stepservice"
)
