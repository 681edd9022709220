// Package daytona is a small server that speaks Daytona's API over sandboxes of this machine:
// to test the provider against, and to try it out with omoi dev --with-daytona-emulator.
//
// It is made from the published descriptions of the API and from what its users report. It is
// an emulator and no Daytona: what is not needed here answers 404 and says so.
//
// # Shape
//
// Two listeners: the main API below /api, and the toolbox, whose address must be read from a
// sandbox's toolboxProxyUrl. A sandbox is a folder and, while it is started, a daemon (package
// toolbox) in a bubblewrap of its own with all that it starts. Without bubblewrap it is a
// process in its folder: [Server.Isolation] says which, and what the emulator does not limit.
//
// What differs from a real sandbox: only home and /tmp can be written, memory, processors and
// disk are not limited, the network is this machine's own, or none, and a stop kills what runs
// without asking it first.
//
// # Clocks
//
// Every lag is an option and none by default. Minutes (auto-stop, auto-delete, time to live)
// and lags run on one clock, which [Server.Advance] moves: no test waits for them.
//
// # Faults
//
// [Faults] switches on what goes wrong with the real one. They can be set over HTTP too, at
// /emulator/faults beside /api, with the API key.
//
// # End
//
// [Server.Close] ends every sandbox and removes its folder. An emulator that is killed leaves
// no process: a daemon ends with its pipe, and bubblewrap with the thread that started it. Its
// folder is removed when the next emulator starts in the same place; it is locked until then, so
// that those that live are left alone. Nothing is kept over an end: the next emulator answers 404
// for sandboxes of an earlier one, which is the truth, since nothing of them runs or is billed.
package daytona
