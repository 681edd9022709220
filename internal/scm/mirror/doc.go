// Package mirror keeps copies of remote repositories on a worker's machine, so that what was fetched once is not fetched again.
//
// Each repository has a folder of its own, by a key that its host never gives to another one:
//
//	<key>/copy.git  objects and refs that were fetched; no configuration, no address, no credential
//	<key>/used      its time is that of the last use
//	<key>/fetch     lock of whoever changes the copy, and of git that he started
//	<key>/use       lock of all who read from it
//
// Nothing is handed out before a fetch from the host has succeeded, with whatever credential the caller has. A copy that does not
// match its sums, as after a kill or on a bad disk, is thrown away and made anew. None is thrown away while somebody reads from it.
// Whoever waits too long for another one's fetch is told so, and fetches for himself.
package mirror
