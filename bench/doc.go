// Package bench holds the words of sixthcopy and its loop: what a workload, a contract, a fault, a
// trial and a verdict are, and the one function that carries a trial out.
//
// It imports the standard library only. Everything that touches the world (links, fake providers,
// oracles, systems, stores) implements an interface of this package and lives in a sibling folder;
// siblings do not import each other.
package bench
