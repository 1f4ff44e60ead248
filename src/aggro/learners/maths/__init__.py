"""Mathematics that several families share: margins, averages, distances, radii, mini-batches."""
