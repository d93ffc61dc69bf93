package main

// overHTTP: requests, forms and uploads, their time and their size.
var overHTTP = []Mutant{{
	Name: "the deadline of a client over HTTP/2 that takes nothing", Why: "a connection whose client reads nothing, not even pings, stays for ever with its buffers",
	At: "cmd/internal/httpapi (*Server).listen", Do: []Op{Field("HTTP2Config", "WriteByteTimeout", "0")},
	Package: "cmd/internal/httpapi", Test: "TestSlowClientsOverHTTP2", Hangs: true,
}, {
	Name: "the deadline of a body over HTTP/2", Why: "a client that announces a body and sends none keeps a handler for ever",
	At: "cmd/internal/httpapi (*sent).arriving", Do: []Op{Drop("SetReadDeadline")},
	Package: "cmd/internal/httpapi", Test: "TestSlowClientsOverHTTP2", Hangs: true,
}, {
	Name: "the deadline of a head", Why: "a client that sends half a request keeps its connection for ever",
	At: "cmd/internal/httpapi (*Server).listen", Do: []Op{Field("Server", "ReadHeaderTimeout", "0")},
	Package: "cmd/internal/httpapi", Test: "TestSlowClients", Hangs: true,
}, {
	Name: "the deadline of a connection that is silent", Why: "a client that asks once and stays keeps its connection for ever",
	At: "cmd/internal/httpapi (*Server).listen", Do: []Op{Field("Server", "IdleTimeout", "0")},
	Package: "cmd/internal/httpapi", Test: "TestSlowClients", Hangs: true,
}, {
	Name: "the deadline of a head of the operators' listener", Why: "a client that sends half a request keeps its connection for ever",
	At: "cmd/internal/ops (*Server).Listen", Do: []Op{Field("Server", "ReadHeaderTimeout", "0"), Field("Server", "ReadTimeout", "0")},
	Package: "cmd/internal/ops", Test: "TestSlowClient", Hangs: true,
}, {
	Name: "the deadline of an answer", Why: "a request whose servers do not answer stays for ever",
	At: "cmd/internal/httpapi (*Server).carryOut", Do: []Op{Never("Sends", "File")},
	Package: "cmd/internal/httpapi", Test: "TestWorkHasADeadline", Hangs: true,
}, {
	Name: "the place from which a stream of events is resumed", Why: "a client that was cut off gets events twice",
	At: "cmd/internal/remote (*following).read", Do: []Op{Drop("Last", "id")},
	Package: "cmd/internal/remote", Test: "TestFollowResumes",
}, {
	Name: "the digest of what a client gets", Why: "a file that was damaged on its way is taken as good",
	At: "cmd/internal/remote (*Server).Fetch", Do: []Op{Never("want", "sha-256")},
	Package: "cmd/internal/remote", Test: "TestFetch",
}, {
	Name: "the refusal to follow a redirect with a key", Why: "a key is sent to another server",
	At: "cmd/internal/remote Open", Do: []Op{Return("error(nil)", "ErrUseLastResponse")},
	Package: "cmd/internal/remote", Test: "TestAnswersThatAreProblems",
}, {
	Name: "the count of waiting deposits before a form", Why: "a user with too many waiting deposits sends a whole file to be refused",
	At: "cmd/internal/forms (*Exchange).merritt", Do: []Op{Never("room", "Empty")},
	Package: "cmd/internal/forms", Test: "TestFullBeforeTheBody",
}, {
	Name: "the count of waiting deposits before a form of Crossref's", Why: "a user with too many waiting deposits or queries sends a whole file to be refused",
	At: "cmd/internal/forms (*Exchange).crossref", Do: []Op{Never("known", "err")},
	Package: "cmd/internal/forms", Test: "TestCrossrefFullBeforeTheBody",
}, {
	Name: "the lock of an empty upload", Why: "of two requests that begin an empty file under one key, one is answered with an error",
	At: "cmd/internal/httpapi/internal/tus (*upload).FinishUpload", Do: []Op{Never("locked")},
	Package: e2e, Test: "TestUploadsAtOnce",
}, {
	Name: "the log of requests without their paths", Why: "who reads the log has the tokens of workers and the tickets of their inputs",
	At: "cmd/internal/httpapi (*Server).behind", Do: []Op{Arg("Info", 4, "r.URL.Path", "took")},
	Package: e2e, Test: "TestTokensOfWorkersAreSeenNowhere",
}, {
	Name: "an error without the value", Why: "an error repeats a password or an API key that was sent in the wrong place",
	At: "cmd/internal/httpapi problems", Do: []Op{Arg("append", 1, "d.Error()", "Message")},
	Package: e2e, Test: "TestCredentialsAreSeenNowhere",
}, {
	Name: "the last boundary of a form", Why: "a form that was cut off among the lines that begin a part is accepted, without the fields behind",
	At: "cmd/internal/forms (*form).next", Do: []Op{Always("ended")},
	Package: e2e, Test: "TestFormsThatAreRefused",
}, {
	Name: "the refusal of fields that are not served", Why: "a client is told that it has what it asked for, and has not",
	At: "cmd/internal/forms (*form).set", Do: []Op{Never("strict")},
	Package: "cmd/internal/forms", Test: "TestFormsOfMerrittThatAreRefused",
}, {
	Name: "the count of header fields", Why: "a request with thousands of fields is kept in memory while it is answered", Was: true,
	At: "cmd/internal/httpapi (*Server).behind", Do: []Op{Never("maxFields")},
	Package: "cmd/internal/httpapi", Test: "TestHeaderFields",
}, {
	Name: "the time of a request whose body no handler reads", Why: "a client without a key holds connections for ever with a body that does not come", Was: true,
	At: "cmd/internal/httpapi (*Server).begun", Do: []Op{Always("StateActive")},
	Package: "cmd/internal/httpapi", Test: "TestBodyThatDoesNotCome",
}, {
	Name: "the time in which an answer is received", Why: "a client that receives nothing holds a connection for ever", Was: true,
	At: "cmd/internal/httpapi (*sent).hurry", Do: []Op{Arg("Add", 0, "time.Hour", "receive")},
	Package: "cmd/internal/httpapi", Test: "TestClientThatReceivesNothing",
}, {
	Name: "the pause of an answer over HTTP/2", Why: "a download that sends nothing for a minute, while the rest of its file is compared, is ended", Was: true,
	At: "cmd/internal/httpapi (*sent).rest", Do: []Op{Drop("SetWriteDeadline")},
	Package: "cmd/internal/httpapi", Test: "TestPauseOverHTTP2",
}, {
	Name: "the time for what was not read of a body, from the answer on", Why: "a client that waits for the answer to its form loses the connection with it",
	At: "cmd/internal/httpapi (*sent).hurry", Do: []Op{Drop("SetReadDeadline")},
	Package: "cmd/internal/httpapi", Test: "TestWorkAfterTheBody",
}, {
	Name: "the end of a body's deadline with the body", Why: "work that takes longer than a body may is cancelled, and its client gets an error", Was: true,
	At: "cmd/internal/httpapi (*arriving).Read", Do: []Op{Never("EOF")},
	Package: "cmd/internal/httpapi", Test: "TestWorkAfterTheBody",
}, {
	Name: "no deadline of a body that is whole", Why: "an upload whose last piece takes long to be kept is cancelled", Was: true,
	At: "cmd/internal/httpapi (*sent).SetReadDeadline", Do: []Op{Never("arrived")},
	Package: "cmd/internal/httpapi", Test: "TestWorkAfterTheBody",
}, {
	Name: "what is sent without a caller", Why: "everyone reads what is deposited, without a key",
	At: "cmd/internal/httpapi withoutCaller", Do: []Op{Always("docsPath")},
	Package: "cmd/internal/httpapi", Test: "TestRoutesWithoutCaller",
}, {
	Name: "the proxies that are believed about where a request comes from", Why: "a client names another address with each wrong password, and is never stopped",
	At: "cmd/internal/httpapi (*Server).proxied", Do: []Op{Return("true")},
	Package: "cmd/internal/httpapi", Test: "TestComesFrom",
}, {
	Name: "the one header in which proxies write where a request comes from", Why: "a client writes the header that the proxy hands on, and names another address with each wrong password",
	At: "cmd/internal/httpapi (*Server).comesFrom", Do: []Op{Never("Forwarded")},
	Package: "cmd/internal/httpapi", Test: "TestForwarded",
}, {
	Name: "the hops of a header Forwarded that is not written as it must be", Why: "a client swallows what the proxy puts behind its part of the header, and names another address",
	At: "cmd/internal/httpapi forwardedFor", Do: []Op{Never("named")},
	Package: "cmd/internal/httpapi", Test: "TestForwarded",
}, {
	Name: "the audit of what no operation has seen", Why: "requests of a known caller that cannot be read are refused without a trace",
	At: "cmd/internal/httpapi (*Server).unseen", Do: []Op{Always("ended")},
	Package: "cmd/internal/httpapi", Test: "TestRefusalsAreAudited",
}, {
	Name: "the bound of a caller's refusals in the audit", Why: "a client with a key fills the tables with what it is refused",
	At: "cmd/internal/httpapi (*refusals).take", Do: []Op{Return("($0) || true", "refusalsNoted")},
	Package: "cmd/internal/httpapi", Test: "TestRefusalsOfOneCallerAreBounded",
}, {
	Name: "what a page knows its caller by", Why: "a page is shown to who sends a key that a browser keeps for another purpose, and the session counts nowhere",
	At: "cmd/internal/httpapi credentialFor", Do: []Op{Never("is")},
	Package: "cmd/internal/httpapi", Test: "TestCredentialOfPages",
}, {
	Name: "the audit of what a page was refused", Why: "what is refused to a user in a browser leaves no trace",
	At: "cmd/internal/httpapi (*Server).within", Do: []Op{Drop("unseen")},
	Package: "cmd/internal/httpapi", Test: "TestPagesAreAudited",
}}
