// Package check holds the checks of a running installation: each is a list of trials that an operator runs by
// `omoi check`, and that the tests of whole installations run as they are. A check asks the API alone, and ends
// what it has made, however it ends itself.
package check
