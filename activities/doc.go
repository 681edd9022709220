// Package activities implements the activities of the workflows, one file for each capability. Interfaces to the rest
// of omoi are in ports.go. Names and payloads are those of package contract, so workflows never import this package.
//
// Each activity reads the current state before it acts: it can be killed at any line and run again.
package activities
