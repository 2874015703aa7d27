Bfarj
locationweights.binp