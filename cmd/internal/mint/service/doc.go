// Package service has identifiers registered by the services that resolve them: ARKs by EZID
// (https://ezid.cdlib.org/doc/apidoc.html), DOIs by DataCite
// (https://support.datacite.org/docs/api-create-dois), or by those that speak their protocols.
//
// A service is never asked to invent a name, for its answer may get lost, and the next would be
// another name. It is given one that was reserved before; asking again changes nothing. If it
// has the name already, its record of the name says for whom it was made: for another, and the
// name is refused.
package service
