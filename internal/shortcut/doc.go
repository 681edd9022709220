// Package shortcut answers small plain requests on their connection, in front of net/http.
//
// A request that an agent posts all day costs net/http more than all that is done with it. The
// front reads from a connection in net/http's place while that waits for the next request. What
// it knows how to answer and is told to take it answers with the same handler; everything else
// goes on to net/http byte for byte, and so does each connection's first request. In doubt the
// connection is net/http's for good: a request here has one reading only, in HTTP/1.1, with a
// Host, a length or no body, and nothing that asks for more than an answer.
package shortcut
