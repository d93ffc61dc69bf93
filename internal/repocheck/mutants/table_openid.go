package main

// openID: who signs in by OpenID Connect, and as whom.
var openID = []Mutant{{
	Name: "the nonce of an ID token", Why: "an ID token that was made for another sign-in, and stolen, signs in its thief",
	At: "cmd/internal/openid (*Provider).Identify", Do: []Op{Never("id", "Nonce")}, Package: "cmd/internal/openid", Test: "TestTokensThatProveNothing",
}, {
	Name: "for which client an ID token is", Why: "what another service of the same provider was given signs in here",
	At: "cmd/internal/openid (*Provider).Identify", Do: []Op{Never("claims", "Party", "Audience")}, Package: "cmd/internal/openid", Test: "TestTokensThatProveNothing",
}, {
	Name: "a subject that is text", Why: "a provider writes what a terminal obeys into the audit",
	At: "cmd/internal/openid (*Provider).Identify", Do: []Op{Never("Subject", "Valid")}, Package: "cmd/internal/openid", Test: "TestTokensThatProveNothing",
}, {
	Name: "requests to the provider by TLS alone", Why: "the secret of the client crosses the network as it is",
	At: "cmd/internal/openid (bounded).RoundTrip", Do: []Op{Never("Protected")}, Package: "cmd/internal/openid", Test: "TestNothingIsSentWithoutTLS", Hangs: true,
}, {
	Name: "addresses of the provider with TLS", Why: "a configuration leads the browser to a script, or the secret to a listener",
	At: "cmd/internal/openid (*Provider).ask", Do: []Op{Never("Protected")}, Package: "cmd/internal/openid", Test: "TestProviderAtFault",
}, {
	Name: "the refusal to follow the provider to another address", Why: "the secret and the code are sent on to another server",
	At: "cmd/internal/openid (*Provider).client", Do: []Op{Field("Client", "CheckRedirect", "nil")}, Package: "cmd/internal/openid", Test: "TestProviderAtFault",
}, {
	Name: "the deadline of a request to the provider", Why: "a provider that hangs keeps every sign-in for ever",
	At: "cmd/internal/openid (*Provider).client", Do: []Op{Field("Client", "Timeout", "0")}, Package: "cmd/internal/openid", Test: "TestProviderAtFault", Hangs: true,
}, {
	Name: "the size of an answer of the provider", Why: "a provider fills the memory of the service",
	At: "cmd/internal/openid (*body).Read", Do: []Op{Never("left")}, Package: "cmd/internal/openid", Test: "TestProviderAtFault", Hangs: true,
}, {
	Name: "errors of the provider without the secret", Why: "a provider that repeats what it was sent writes the secret into the log",
	At: "cmd/internal/openid (*Provider).hidden", Do: []Op{Never("secret", `""`)}, Package: "cmd/internal/openid", Test: "TestProviderAtFault",
}, {
	Name: "the pause of a provider that does not answer", Why: "everyone who tries to sign in waits for a provider that is down",
	At: "cmd/internal/openid (*Provider).find", Do: []Op{Never("Since")}, Package: "cmd/internal/openid", Test: "TestProviderIsNotAskedByACrowd",
}, {
	Name: "the browser that has begun a sign-in", Why: "a link signs its reader in as another person",
	At: "cmd/internal/app/people (*OpenID).Finish", Do: []Op{Never("Equal")}, Package: "cmd/internal/app/people", Test: "TestSignInsThatComeBackWrong",
}, {
	Name: "the one time that a sign-in comes back", Why: "the address of an answer, as a history has it, signs in again",
	At: "cmd/internal/app/people (*OpenID).Finish", Do: []Op{Never("found")}, Package: "cmd/internal/app/people", Test: "TestSignInsThatComeBackWrong",
}, {
	Name: "the time that a sign-in may take", Why: "an answer that was kept signs in days later",
	At: "cmd/internal/record (*Records).EndOpenID", Do: []Op{Always("Before")}, Package: "cmd/internal/app/people", Test: "TestSignInsThatComeBackWrong",
}, {
	Name: "the provider that an answer is of", Why: "the code of another provider is sent to this one",
	At: "cmd/internal/app/people (*OpenID).Finish", Do: []Op{Never("Issuer", `""`)}, Package: "cmd/internal/app/people", Test: "TestSignInsThatComeBackWrong",
}, {
	Name: "a disabled user whom the provider knows", Why: "one who has left goes on, by another way",
	At: "cmd/internal/app/people (*OpenID).session", Do: []Op{Never("DisabledAt")}, Package: "cmd/internal/app/people", Test: "TestSignInByOpenID",
}, {
	Name: "the count of sign-ins that begin", Why: "a client fills the tables, and asks the provider, as often as it can",
	At: "cmd/internal/app/people (*OpenID).Begin", Do: []Op{Never("count")}, Package: "cmd/internal/app/people", Test: "TestOpenIDAttemptsAreLimited",
}, {
	Name: "what failed by the provider is no attempt", Why: "while the provider is down, no password signs in either",
	At: "cmd/internal/app/people (*OpenID).fault", Do: []Op{Call("GiveBack", "error(nil)")}, Package: "cmd/internal/app/people", Test: "TestProviderIsDown",
}, {
	Name: "the end of the sessions of who is bound to another person", Why: "who was bound by mistake goes on for half a day",
	At: "cmd/internal/record (*PeopleTx).BindOpenID", Do: []Op{Call("EndSessions", "error(nil)")}, Package: "cmd/internal/app/people", Test: "TestPersonOfUser",
}, {
	Name: "the page that begins a sign-in", Why: "a page of another origin uses up the attempts of its reader",
	At: "cmd/internal/console (*Console).beginOpenID", Do: []Op{Never("site", `"none"`)}, Package: "cmd/internal/console", Test: "TestOpenIDLeadsNowhereElse",
}, {
	Name: "where the way leads on from a sign-in", Why: "who has signed in is on a page of another host, which asks for the password again",
	At: "cmd/internal/console signedIn", Do: []Op{Never("ours")}, Package: "cmd/internal/console", Test: "TestOpenIDLeadsNowhereElse",
}}
